/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of one record of a trace (record.h), and the header of the text. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter.h"
#include "emu/wire/profile.h"
#include "record.h"
#include "trace.h"

static const char *const posts[] = { [NIC_OP_SEND] = "post_send",
				     [NIC_OP_WRITE] = "post_rdma_write",
				     [NIC_OP_READ] = "post_rdma_read" };
static const char *const packets[] = {
	"SEND_ONLY",  "SEND_FIRST",   "SEND_LAST",    "SEND_MIDDLE",  "WRITE_ONLY", "WRITE_FIRST",
	"WRITE_LAST", "WRITE_MIDDLE", "READ_REQUEST", "COMPARE_SWAP", "FETCH_ADD",
};
static const char *const opcodes[NIC_OP_COUNT] = {
	[NIC_OP_SEND] = "SEND",     [NIC_OP_WRITE] = "RDMA_WRITE", [NIC_OP_READ] = "RDMA_READ",
	[NIC_OP_BIND] = "BIND",     [NIC_OP_RECV] = "RECV",        [NIC_OP_SWAP] = "COMPARE_SWAP",
	[NIC_OP_ADD] = "FETCH_ADD",
};

#define WORDS(words) (words), sizeof(words) / sizeof((words)[0])
#define POLL(what)                                                                     \
	"@ ibv_poll_cq cq=cq#1 opcode=IBV_WC_" what " status=IBV_WC_SUCCESS bytes=#2 " \
	"wr_id=#3"
#define DIRECT                                                             \
	"@ packet to=^ op=SEND_ONLY message=#2 packet=0 bytes=#3 psn=#4\n" \
	"^ take from=rq message=#2 available=#5 taken=#6\n"                \
	"^ complete op=RECV status=SUCCESS bytes=#3 message=#2\n"          \
	"^ packet to=@ op=ACK message=#2 psn=#4\n"                         \
	"@ complete op=SEND status=SUCCESS bytes=#3 message=#2"

/*
 * The lines of each kind: `@` is the QP and `^` its peer, `&` and `*` are their adapters, `#2` is a
 * value in decimal, `<2` its lower half and `>2` its upper one, `~2` one of `words`, `%2` the name
 * of a status; a newline ends a line.
 */
static const struct kind {
	const char *text;
	uint32_t values;
	const char *const *words;
	size_t count; /* of words */
} kinds[EMU_RECORD_KINDS] = {
	[EMU_RECORD_ADAPTER] = { NULL, EMU_NAME / sizeof(uint32_t), NULL, 0 },
	[EMU_RECORD_POST] = { "@ ~4 bytes=#1 segments=#2 message=#3", 5, WORDS(posts) },
	[EMU_RECORD_POST_QP] = { "@ post_send bytes=#1 segments=#2 message=#3 wr_id=#4", 5, NULL,
				 0 },
	[EMU_RECORD_POST_UNSIGNALED] = { "@ post_send bytes=#1 segments=#2 message=#3 unsignaled=1 "
					 "wr_id=#4",
					 5, NULL, 0 },
	[EMU_RECORD_PACKET] = { "@ packet to=^ op=~2 message=#3 packet=#4 bytes=#5 psn=#6", 7,
				WORDS(packets) },
	[EMU_RECORD_TAKE] = { "@ take from=rq message=#1 available=#2 taken=#3", 4, NULL, 0 },
	[EMU_RECORD_TAKE_SRQ] = { "@ take from=&.srq#4 message=#1 available=#2 taken=#3", 5, NULL,
				  0 },
	[EMU_RECORD_COMPLETE] = { "@ complete op=~1 status=%2 bytes=#3 message=#4", 5,
				  WORDS(opcodes) },
	[EMU_RECORD_ACK] = { "@ packet to=^ op=ACK message=#2 psn=#3", 4, NULL, 0 },
	[EMU_RECORD_ARRIVE] = { "@ packet to=^ op=SEND_ONLY message=#2 packet=0 bytes=#3 psn=#4\n"
				"^ take from=rq message=#2 available=#5 taken=#6\n"
				"^ complete op=RECV status=SUCCESS bytes=#3 message=#7",
				8, NULL, 0 },
	[EMU_RECORD_ARRIVE_SRQ] = { "@ packet to=^ op=SEND_ONLY message=#2 packet=0 bytes=#3 "
				    "psn=#4\n"
				    "^ take from=*.srq#8 message=#2 available=#5 taken=#6\n"
				    "^ complete op=RECV status=SUCCESS bytes=#3 message=#7",
				    9, NULL, 0 },
	[EMU_RECORD_ACKED] = { "@ packet to=^ op=ACK message=#2 psn=#3\n"
			       "^ complete op=~5 status=SUCCESS bytes=#4 message=#2",
			       6, WORDS(opcodes) },
	[EMU_RECORD_DIRECT] = { "@ post_send bytes=#3 segments=1 message=#2\n" DIRECT, 7, NULL, 0 },
	[EMU_RECORD_DIRECT_QP] = { "@ post_send bytes=#3 segments=1 message=#2 wr_id=#7\n" DIRECT,
				   8, NULL, 0 },
	[EMU_RECORD_FRONT + NIC_TRACE_EP_RECV] = { "@ post_recv bytes=#1 segments=#2 "
						   "outstanding=#3",
						   4, NULL, 0 },
	[EMU_RECORD_FRONT + NIC_TRACE_EP_REAP_RECV] = { "@ reap op=RECV status=SUCCESS "
							"evd=&.evd#1",
							2, NULL, 0 },
	[EMU_RECORD_FRONT + NIC_TRACE_EP_REAP_REQUEST] = { "@ reap op=REQUEST status=SUCCESS "
							   "evd=&.evd#1",
							   2, NULL, 0 },
	[EMU_RECORD_FRONT + NIC_TRACE_QP_RECV] = { "@ ibv_post_recv bytes=#1 segments=#2 wr_id=#3",
						   4, NULL, 0 },
	[EMU_RECORD_FRONT + NIC_TRACE_QP_POLL_RECV] = { POLL("RECV"), 4, NULL, 0 },
	[EMU_RECORD_FRONT + NIC_TRACE_QP_POLL_SEND] = { POLL("SEND"), 4, NULL, 0 },
	[EMU_RECORD_FRONT + NIC_TRACE_SRQ_RECV] = { "&.srq#0 post_recv bytes=#1 segments=1 "
						    "available=#2 outstanding=#3",
						    4, NULL, 0 },
	[EMU_RECORD_FRONT + NIC_TRACE_IBV_SRQ_RECV] = { "&.srq#0 ibv_post_srq_recv bytes=#1 "
							"segments=1 available=#2 wr_id=#3",
							4, NULL, 0 },
	[EMU_RECORD_FRONT + NIC_TRACE_EP_REAP_SRQ] = { "@ reap op=RECV status=SUCCESS evd=&.evd<1 "
						       "srq=&.srq>1 available=#2 outstanding=#3",
						       4, NULL, 0 },
};

/*
 * The pieces of the texts above, made once, when the library is loaded. A piece is a run of plain
 * characters and the special character behind it. The run is copied whole, which is faster than a
 * look at each character.
 */
#define PIECE_BYTES 29u
#define PIECES_MOST 256u

static struct piece {
	char text[PIECE_BYTES];
	uint8_t length;
	char what;     /* the special character; '\0' ends a kind, ' ' continues a long text */
	uint8_t value; /* its digit */
} pieces[PIECES_MOST];
static const struct piece *pieces_of[EMU_RECORD_KINDS];

static bool is_special(char c)
{
	return c == '\0' || strchr("\n@^&*#<>~%", c);
}

/* Returns the place for the pieces of the next text. */
static struct piece *cut_up(const char *text, struct piece *piece)
{
	do {
		assert(piece < pieces + PIECES_MOST);
		while (!is_special(*text) && piece->length < PIECE_BYTES)
			piece->text[piece->length++] = *text++;
		piece->what = is_special(*text) ? *text++ : ' ';
		if (piece->what && strchr("#<>~%", piece->what))
			piece->value = (uint8_t)(*text++ - '0');
	} while (piece++->what);
	return piece;
}

static __attribute__((constructor)) void cut_up_all(void)
{
	struct piece *next = pieces;

	for (size_t i = 0; i < EMU_RECORD_KINDS; i++) {
		pieces_of[i] = next;
		next = cut_up(kinds[i].text ? kinds[i].text : "", next);
	}
}

const char *emu_status_name(enum nic_wc_status status)
{
	static const char *const names[NIC_WC_COUNT] = {
		[NIC_WC_SUCCESS] = "SUCCESS",
		[NIC_WC_FLUSHED] = "FLUSHED",
		[NIC_WC_LOCAL_LENGTH] = "LOCAL_LENGTH",
		[NIC_WC_LOCAL_QP] = "LOCAL_EP",
		[NIC_WC_LOCAL_PROTECTION] = "LOCAL_PROTECTION",
		[NIC_WC_BAD_RESPONSE] = "BAD_RESPONSE",
		[NIC_WC_REMOTE_ACCESS] = "REMOTE_ACCESS",
		[NIC_WC_REMOTE_OPERATION] = "REMOTE_RESPONDER",
		[NIC_WC_RETRY_EXCEEDED] = "TRANSPORT",
		[NIC_WC_RNR_EXCEEDED] = "RECEIVER_NOT_READY",
		[NIC_WC_PARTIAL] = "PARTIAL",
		[NIC_WC_BIND_FAILED] = "BIND_FAILED",
		[NIC_WC_REMOTE_INVALID] = "REMOTE_INVALID",
	};

	return status < NIC_WC_COUNT ? names[status] : "?";
}

/* ---- the text of one record: a few names and numbers, so EMU_TRACE_LINE bytes are enough ---- */

/* Words are short: two libc calls would take longer. */
static char *put_word(char *to, const char *word)
{
	while (*word)
		*to++ = *word++;
	return to;
}

/* The digits of a number other than 0: its bits times log10(2), rounded down, or one more. */
static size_t digits_of(uint64_t number)
{
	static const uint64_t tens[] = {
		1ul,
		10ul,
		100ul,
		1000ul,
		10000ul,
		100000ul,
		1000000ul,
		10000000ul,
		100000000ul,
		1000000000ul,
		10000000000ul,
		100000000000ul,
		1000000000000ul,
		10000000000000ul,
		100000000000000ul,
		1000000000000000ul,
		10000000000000000ul,
		100000000000000000ul,
		1000000000000000000ul,
		10000000000000000000ul,
	};
	size_t least = (size_t)(64 - __builtin_clzl(number)) * 1233 >> 12;

	return least + (number >= tens[least]);
}

/* From its end, two digits at a time. */
char *emu_put_number(char *to, uint64_t number)
{
	static const char pairs[] = "0001020304050607080910111213141516171819"
				    "2021222324252627282930313233343536373839"
				    "4041424344454647484950515253545556575859"
				    "6061626364656667686970717273747576777879"
				    "8081828384858687888990919293949596979899";
	char *end, *at;

	if (number < 10) {
		*to = (char)('0' + number);
		return to + 1;
	}
	end = at = to + digits_of(number);
	for (; number >= 100; number /= 100)
		memcpy(at -= 2, pairs + 2 * (number % 100), 2);
	if (number >= 10)
		memcpy(to, pairs + 2 * number, 2);
	else
		*to = (char)('0' + number);
	return end;
}

/* Another process may have left the name without an end. */
static char *put_adapter(char *to, struct emu_world *w, const struct emu_trace_reader *reader,
			 uint16_t adapter)
{
	memcpy(to,
	       reader->names ? reader->names[adapter <= EMU_ADAPTERS ? adapter : 0]
			     : emu_adapter_name(w, adapter),
	       EMU_NAME);
	to[EMU_NAME - 1] = '\0';
	return to + strlen(to);
}

static char *put_qp(char *to, struct emu_world *w, const struct emu_trace_reader *reader,
		    const struct emu_record *r, bool peer)
{
	to = put_adapter(to, w, reader, peer ? r->head.peer : r->head.adapter);
	*to++ = '.';
	to = put_word(to, emu_trace_noun(peer ? r->head.nouns >> 4 : r->head.nouns & 15));
	return emu_put_number(to, r->value[peer]);
}

static char *put_field(char *to, const struct kind *kind, char what, uint32_t value)
{
	if (what == '#')
		return emu_put_number(to, value);
	if (what == '<' || what == '>')
		return emu_put_number(to, what == '<' ? (uint16_t)value : value >> 16);
	if (what == '%')
		return put_word(to, emu_status_name((enum nic_wc_status)value));
	return put_word(to, value < kind->count ? kind->words[value] : "?");
}

size_t emu_record_text(struct emu_world *w, struct emu_trace_reader *reader,
		       const struct emu_record *r, char *out)
{
	const struct kind *kind = &kinds[r->head.kind];
	const struct piece *piece = pieces_of[r->head.kind];
	char *to = emu_put_number(out, r->head.now);
	const size_t time = (size_t)(to - out);

	*to++ = ' ';
	for (;; piece++) {
		memcpy(to, piece->text, PIECE_BYTES);
		to += piece->length;
		if (piece->what == '\0')
			break;
		if (piece->what == '@' || piece->what == '^') {
			to = put_qp(to, w, reader, r, piece->what == '^');
		} else if (piece->what == '&' || piece->what == '*') {
			to = put_adapter(to, w, reader,
					 piece->what == '*' ? r->head.peer : r->head.adapter);
		} else if (piece->what == '\n') {
			*to++ = '\n';
			to = mempcpy(to, out, time);
			*to++ = ' ';
			reader->lines++;
		} else if (piece->what != ' ') {
			to = put_field(to, kind, piece->what, r->value[piece->value]);
		}
	}
	*to++ = '\n';
	reader->lines++;
	return (size_t)(to - out);
}

uint16_t emu_record_least(uint8_t kind)
{
	return kind < EMU_RECORD_KINDS && kinds[kind].values
		       ? emu_record_words(kinds[kind].values * sizeof(uint32_t))
		       : 0;
}

size_t emu_trace_header(const struct emu_world *w, char *out)
{
	static const struct nic_config defaults = NIC_CONFIG_DEFAULT;
	const struct emu_config *c = &w->config;
	const struct {
		const char *key;
		uint64_t value, usual;
	} knobs[] = {
		{ "latency_ns", c->latency_ns, defaults.latency_ns },
		{ "bandwidth_bps", c->bandwidth_bps, defaults.bandwidth_bps },
		{ "mtu", c->mtu, defaults.mtu },
		{ "rnr_retry", c->rnr_retry, defaults.rnr_retry },
		{ "rnr_timer_ns", c->rnr_timer_ns, defaults.rnr_timer_ns },
		{ "retry", c->retry, defaults.retry },
		{ "retry_timer_ns", c->retry_timer_ns, defaults.retry_timer_ns },
		{ "poll_quantum_ns", c->poll_quantum_ns, defaults.poll_quantum_ns },
		{ "trace_last", c->trace_last, defaults.trace_last },
	};
	char hostile[NIC_HOSTILE_TEXT];
	int n = sprintf(out, "libdat trace 1\n# profile=%s\n# seed=%lu\n", emu_profile(w)->name,
			c->seed);

	for (size_t i = 0; i < sizeof(knobs) / sizeof(knobs[0]); i++)
		if (knobs[i].value != knobs[i].usual)
			n += sprintf(out + n, "# %s=%lu\n", knobs[i].key, knobs[i].value);
	nic_hostile_text(c->hostile, hostile);
	if (hostile[0])
		n += sprintf(out + n, "# hostile=%s\n", hostile);
	return (size_t)n;
}
