/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packets that arrived, read from the trace: each of its lines is looked at once, and the first
 * sequence numbers of Endpoints are learnt from the packets that set up their connections.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/datsim/show/trace.h"
#include "world.h"

/* The words of a line: time, object, verb. Returns how many there are, at most three. */
static int first_words(const char *line, size_t length, struct span *words)
{
	size_t i = 0, start;
	int n;

	for (n = 0; n < 3 && i < length; n++) {
		for (start = i; i < length && line[i] != ' '; i++)
			;
		words[n] = (struct span){ line + start, i - start };
		i++;
	}
	return n;
}

const char *trace_key(const char *line, size_t length, const char *key, size_t *n)
{
	size_t size = strlen(key), i = 0;
	const char *blank;

	while (i < length) {
		blank = memchr(line + i, ' ', length - i);
		*n = blank ? (size_t)(blank - line) - i : length - i;
		if (*n > size && line[i + size] == '=' && !memcmp(line + i, key, size)) {
			*n -= size + 1;
			return line + i + size + 1;
		}
		i += *n + 1;
	}
	return NULL;
}

static struct packet_sender *find_sender(struct packet_log *log, const char *name, size_t n)
{
	size_t i;

	for (i = 0; i < log->sender_count; i++) {
		if (strlen(log->senders[i].name) == n && !memcmp(log->senders[i].name, name, n))
			return &log->senders[i];
	}
	return NULL;
}

static void learn_sender(struct packet_log *log, struct span name, uint64_t psn)
{
	struct packet_sender *sender = find_sender(log, name.s, name.length);

	if (name.length >= sizeof(sender->name))
		return;
	if (!sender && log->sender_count == log->sender_room) {
		log->sender_room = log->sender_room ? 2 * log->sender_room : 16;
		log->senders = mem_grow(log->senders, log->sender_room * sizeof(*log->senders));
	}
	if (!sender)
		sender = &log->senders[log->sender_count++];
	memset(sender->name, 0, sizeof(sender->name));
	memcpy(sender->name, name.s, name.length);
	sender->first_psn = psn;
}

/* An answer has the sequence number of the request that it answers. */
static bool is_answer(const char *op, size_t n)
{
	static const char *const kinds[] = { "ACK", "NAK", "RNR_NAK", "READ_RESPONSE" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (n >= strlen(kinds[i]) && !memcmp(op, kinds[i], strlen(kinds[i])))
			return true;
	}
	return false;
}

static void learn_packet(struct packet_log *log, const char *text, size_t at, size_t length,
			 struct span from)
{
	size_t op_n = 0, to_n = 0, psn_n = 0;
	const char *line = text + at;
	const char *op = trace_key(line, length, "op", &op_n);
	const char *to = trace_key(line, length, "to", &to_n);
	const char *psn = trace_key(line, length, "psn", &psn_n);
	const struct packet_sender *sender;

	if (!op || !to)
		return;
	if (psn && op_n >= 3 && !memcmp(op, "CM_", 3))
		learn_sender(log, from, strtoull(psn, NULL, 10));
	sender = is_answer(op, op_n) ? find_sender(log, to, to_n)
				     : find_sender(log, from.s, from.length);
	if (log->count == log->room) {
		log->room = log->room ? 2 * log->room : 64;
		log->seen = mem_grow(log->seen, log->room * sizeof(*log->seen));
	}
	log->seen[log->count++] =
		(struct packet_seen){ at, length, sender ? sender->first_psn : UINT64_MAX };
}

const char *packets_read(struct run *run)
{
	struct packet_log *log = &run->packets;
	const char *text, *end;
	struct span words[3];
	size_t length, n;

	if (dat_sim_trace_read(run->sim, &text, &length) != DAT_SUCCESS)
		return NULL;
	while (log->read < length) {
		end = memchr(text + log->read, '\n', length - log->read);
		if (!end)
			break;
		n = (size_t)(end - text) - log->read;
		if (first_words(text + log->read, n, words) == 3 && words[2].length == 6 &&
		    !memcmp(words[2].s, "packet", 6))
			learn_packet(log, text, log->read, n, words[1]);
		log->read += n + 1;
	}
	return text;
}

void packets_begin(struct run *run)
{
	struct packet_log *log = &run->packets;
	int i, j;

	if (!run->script->watches_packets)
		return;
	packets_read(run);
	for (i = 0; i < SCRIPT_ACTORS_MAX; i++) {
		for (j = 0; j < SCRIPT_ACTORS_MAX; j++)
			log->next[i][j] = log->count;
	}
}

void packets_end(struct run *run)
{
	free(run->packets.seen);
	free(run->packets.senders);
}
