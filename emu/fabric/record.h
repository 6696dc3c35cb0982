/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record.h - the trace as it is written: one binary record for each thing that happens.
 *
 * Records lie one after the other in the fabric's trace memory. A line that is written for every
 * message has a kind of its own and holds numbers only; any other line is a record of kind TEXT.
 * The text of doc/trace.md is made when the trace is read (trace_text.c). Nothing in a record
 * refers to an object that may change later: a QP is named by its adapter, noun and number, and a
 * record of kind ADAPTER says which name an adapter has from there on.
 *
 * A record counts from the moment at which emu_fabric.trace_length covers it, which is stored last:
 * a process that is killed leaves all records but the one it was writing.
 *
 * A trace that keeps its end is a ring of such records: ring.h.
 *
 * A private fabric whose trace has a regular file keeps text there instead (trace_file.c), so that
 * the file is complete if the program is killed.
 */
#ifndef EMU_FABRIC_RECORD_H
#define EMU_FABRIC_RECORD_H

#include <string.h>

#include "fabric.h"

enum emu_record_kind {
	EMU_RECORD_NONE, /* what memory holds that was never written */
	EMU_RECORD_TEXT, /* in place of values: the line, ended by a NUL */
	EMU_RECORD_ADAPTER,
	EMU_RECORD_END,             /* in a ring: the next record begins the next segment */
	EMU_RECORD_POST,            /* of an EP: a Send, RDMA Write or Read */
	EMU_RECORD_POST_QP,         /* of a QP: a Send */
	EMU_RECORD_POST_UNSIGNALED, /* likewise */
	EMU_RECORD_PACKET,
	EMU_RECORD_TAKE,
	EMU_RECORD_TAKE_SRQ,
	EMU_RECORD_COMPLETE,
	EMU_RECORD_ACK,
	EMU_RECORD_ARRIVE, /* the lines PACKET, TAKE and COMPLETE of an ordinary message */
	EMU_RECORD_ARRIVE_SRQ,
	EMU_RECORD_ACKED,     /* the lines ACK and COMPLETE */
	EMU_RECORD_DIRECT,    /* all lines of a Send of an EP that is delivered at its post */
	EMU_RECORD_DIRECT_QP, /* likewise of a QP */
	EMU_RECORD_FRONT,     /* and what follows: enum nic_trace_kind */
	EMU_RECORD_KINDS = EMU_RECORD_FRONT + NIC_TRACE_KINDS
};

#define EMU_RECORD_VALUES 10u

struct emu_record_head {
	uint64_t now;
	uint8_t kind;
	uint8_t nouns;  /* that of the QP, and 16 times that of its peer */
	uint16_t words; /* of 8 bytes, this header included */
	uint16_t adapter, peer;
};
#define EMU_RECORD_HEAD sizeof(struct emu_record_head)

struct emu_record {
	struct emu_record_head head;
	/* The first one is the name of the QP, and the second of a record with a peer is its. */
	uint32_t value[EMU_RECORD_VALUES];
} __attribute__((may_alias)); /* the trace is characters */
/* Bytes of a line at most. Those of names and calls are much shorter. */
#define EMU_TRACE_LINE 8192u
/* Room that is kept free for the note that the trace is full, and for the end mark. */
#define EMU_TRACE_ROOM 1024u

_Static_assert(EMU_RECORD_HEAD == 16, "a header is two words");
_Static_assert(NIC_NOUNS <= 16, "two nouns fit into a byte");

static inline uint16_t emu_record_words(size_t value_bytes)
{
	return (uint16_t)((EMU_RECORD_HEAD + value_bytes + EMU_WORD - 1) / EMU_WORD);
}

/*
 * A record in the trace. In a shared fabric another process may have written a length there that is
 * no multiple of a word.
 */
typedef struct emu_record emu_record_place __attribute__((aligned(1)));

/* There may be no room, or the trace has a file: trace.c. */
void emu_record_elsewhere(struct emu_world *w, const struct emu_record *record);

/* Where to write the next record: into the trace, or to `beside`, for emu_record_elsewhere. */
static inline emu_record_place *emu_record_begin(struct emu_world *w, struct emu_record *beside)
{
	uint64_t at = w->fab->trace_length;

	if (__builtin_expect(at < w->trace_limit, 1))
		return (emu_record_place *)(w->fab->trace + (at & w->trace_mask));
	/* A record of an odd number of values has four bytes more. */
	memset(beside, 0, sizeof(*beside));
	return (emu_record_place *)beside;
}

/* It is written. */
static inline void emu_record_end(struct emu_world *w, const emu_record_place *record,
				  const struct emu_record *beside, uint16_t words)
{
	if (__builtin_expect((const void *)record == beside, 0)) {
		emu_record_elsewhere(w, beside);
		return;
	}
	__asm__ volatile("" ::: "memory");
	w->fab->trace_length += words * (uint64_t)EMU_WORD;
}

/*
 * Add a record with these values, of which the first ones are names. It is built where it stays,
 * one value after the other.
 */
#define emu_record_put(w, what, its_nouns, its_adapter, its_peer, ...)                       \
	do {                                                                                 \
		const uint32_t record_values_[] = { __VA_ARGS__ };                           \
		const uint32_t record_count_ = sizeof(record_values_) / sizeof(uint32_t);    \
		const uint16_t record_words_ = emu_record_words(sizeof(record_values_));     \
		struct emu_record record_beside_;                                            \
		emu_record_place *record_ = emu_record_begin((w), &record_beside_);          \
                                                                                             \
		_Static_assert(sizeof(record_values_) <= sizeof(record_->value), "no room"); \
		record_->head = (struct emu_record_head){ .now = (w)->fab->now,              \
							  .kind = (uint8_t)(what),           \
							  .nouns = (uint8_t)(its_nouns),     \
							  .words = record_words_,            \
							  .adapter = (its_adapter),          \
							  .peer = (its_peer) };              \
		_Pragma("GCC unroll 10") for (uint32_t i_ = 0; i_ < record_count_; i_++)     \
		{                                                                            \
			record_->value[i_] = record_values_[i_];                             \
			EMU_ALONE(record_->value[i_]);                                       \
		}                                                                            \
		emu_record_end((w), record_, &record_beside_, record_words_);                \
	} while (0)

/* About one QP: emu_record_of(w, EMU_RECORD_TAKE, qp, message, available, taken). */
#define emu_record_of(w, what, qp, ...) \
	emu_record_put((w), (what), (qp)->noun, (qp)->adapter, 0, (qp)->name, __VA_ARGS__)

/* About a QP and its peer. */
#define emu_record_between(w, what, qp, other, ...)                                 \
	emu_record_put((w), (what), (qp)->noun | (other)->noun << 4, (qp)->adapter, \
		       (other)->adapter, (qp)->name, (other)->name, __VA_ARGS__)

/* The word of a packet: what it is, and for the first two where it is in its message. */
enum emu_record_packet {
	EMU_PACKET_SEND = 0,
	EMU_PACKET_WRITE = 4,
	EMU_PACKET_READ = 8,
	EMU_PACKET_SWAP,
	EMU_PACKET_ADD
};
enum emu_record_place {
	EMU_PACKET_ONLY,
	EMU_PACKET_FIRST,
	EMU_PACKET_LAST,
	EMU_PACKET_MIDDLE
};

/* ---- the text: trace_reader.c, trace_text.c ---- */

struct emu_trace_reader {
	uint64_t at, end; /* positions: of the next record, and behind the last one */
	uint64_t from;    /* of the first one that was read; 0: they all were */
	uint64_t length;  /* bytes of text so far */
	uint64_t lines;
	bool garbage;            /* in place of the positions in the arena */
	bool skipped;            /* records were dropped, which the next line says */
	bool ended;              /* the text is full, or there is garbage */
	char (*names)[EMU_NAME]; /* of the adapters; NULL: those that they have now */
};

/* `shared`: the adapters of the fabric may change their names. False: no memory. */
bool emu_reader_open(struct emu_trace_reader *reader, bool shared);
void emu_reader_close(struct emu_trace_reader *reader);
/*
 * Look how far the trace has come. That bounds what is read until the next look, even if another
 * process writes nonsense to the arena meanwhile.
 */
void emu_reader_look(struct emu_world *w, struct emu_trace_reader *reader);
/*
 * The text of the next record to `out`, which has room for EMU_TRACE_LINE bytes; a record may have
 * none. False: there was no further record at the last look.
 */
bool emu_reader_next(struct emu_world *w, struct emu_trace_reader *reader, char *out,
		     size_t *length);
/* The text of one record, which is no TEXT; to `out` as above. */
size_t emu_record_text(struct emu_world *w, struct emu_trace_reader *reader,
		       const struct emu_record *record, char *out);
/* Words that a record of that kind has at least; 0: there are no such records. */
uint16_t emu_record_least(uint8_t kind);
/* Write a number in decimal, without a NUL. Returns the end. */
char *emu_put_number(char *to, uint64_t number);
/* "libdat trace 1" and what follows it before the first event; to `out` as above. */
size_t emu_trace_header(const struct emu_world *w, char *out);

#endif /* EMU_FABRIC_RECORD_H */
