/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datsim show --pcapng on a trace of profile iwarp that the test makes: the TCP segments of the
 * connection are reassembled into streams, which hold MPA frames and nothing else, in order.
 */
#include "tests/support/support.h"
#include "tests/unit/capture/capture_file.h"
#include "tools/datsim/show/capture/iwarp.h"

#define STREAM 16384
#define FRAMES 64

/* A TCP segment */
struct seen {
	const struct frame *frame;
	uint32_t from_port, to_port;
	uint32_t at, ack; /* relative to the SYNs */
	uint8_t flags;
	const uint8_t *data;
	size_t length;
	int side; /* 0: the side that asked for the connection */
};

struct ddp {
	uint32_t opcode, bytes, last, queue, msn, offset;
};

static struct {
	struct seen seen[COUNT(file.frames)];
	uint32_t first[2]; /* sequence numbers of the SYNs */
	uint8_t bytes[2][STREAM];
	bool have[2][STREAM];
	uint32_t length[2]; /* bytes that arrived */
	struct ddp ddp[2][FRAMES];
	size_t count[2];
} tcp;

/* ---- segments and streams ---- */

static bool is_lost(const struct frame *frame)
{
	return strstr(frame->comment, "dropped") || strstr(frame->comment, "corrupted");
}

static void read_segment(struct seen *seen, const struct frame *frame)
{
	const uint8_t *at = frame->bytes + 34;
	size_t header = (size_t)(at[12] >> 4) * 4;

	ck_assert_uint_eq(frame->bytes[23], 6);
	seen->frame = frame;
	seen->from_port = get_net(at, 2);
	seen->to_port = get_net(at + 2, 2);
	seen->flags = at[13];
	seen->side = seen->from_port < 49152;
	if (seen->flags & TCP_SYN)
		tcp.first[seen->side] = get_net(at + 4, 4);
	seen->at = get_net(at + 4, 4) - tcp.first[seen->side];
	seen->ack = seen->flags & TCP_ACK ? get_net(at + 8, 4) - tcp.first[!seen->side] : 0;
	seen->data = at + header;
	seen->length = frame->length - 34 - header;
	ck_assert_uint_eq(seen->flags & TCP_ACK ? 0 : seen->length, 0);
}

/* A repeated segment has the same bytes as before; an acknowledged byte has arrived. */
static void put_together(const struct seen *seen)
{
	uint32_t *whole = &tcp.length[!seen->side];
	uint32_t i, at;

	for (i = 0; i < seen->length && !is_lost(seen->frame); i++) {
		at = seen->at - 1 + i;
		ck_assert_uint_lt(at, STREAM);
		ck_assert(!tcp.have[seen->side][at] || tcp.bytes[seen->side][at] == seen->data[i]);
		tcp.have[seen->side][at] = true;
		tcp.bytes[seen->side][at] = seen->data[i];
	}
	for (*whole = 0; tcp.have[!seen->side][*whole]; ++*whole)
		;
	if (seen->ack)
		ck_assert_uint_le(seen->ack - 1, *whole);
}

static void read_fpdus(int side)
{
	const uint8_t *at = tcp.bytes[side];
	uint32_t mpa = 20 + get_net(at + 18, 2), i = mpa, n;
	struct ddp *ddp;

	ck_assert_mem_eq(at, side ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
	while (tcp.have[side][i]) {
		uint32_t tagged = at[i + 2] >> 7, header = tagged ? 14 : 18;

		n = get_net(at + i, 2);
		ddp = &tcp.ddp[side][tcp.count[side]++];
		*ddp = (struct ddp){ .opcode = at[i + 3] & 15,
				     .bytes = n - header,
				     .last = at[i + 2] >> 6 & 1,
				     .queue = tagged ? 0 : get_net(at + i + 8, 4),
				     .msn = tagged ? 0 : get_net(at + i + 12, 4),
				     .offset = get_net(at + i + 2 + header - 4, 4) };
		n = (2 + n + 3) / 4 * 4;
		ck_assert_uint_eq(get(at + i + n, 4), crc32c(at + i, n));
		i += n + 4;
	}
	for (; i < STREAM; i++)
		ck_assert(!tcp.have[side][i]);
}

static void capture(void)
{
	size_t i;

	read_capture();
	memset(&tcp, 0, sizeof(tcp));
	for (i = 0; i < file.count; i++) {
		read_segment(&tcp.seen[i], &file.frames[i]);
		put_together(&tcp.seen[i]);
	}
	read_fpdus(0);
	read_fpdus(1);
}

static void expect_ddp(int side, const struct ddp *wanted, size_t count)
{
	size_t i;

	for (i = 0; i < count && i < tcp.count[side]; i++) {
		const struct ddp *have = &tcp.ddp[side][i];

		ck_assert_msg(
			!memcmp(have, &wanted[i], sizeof(*have)),
			"frame %zu of side %d: opcode %u, %u bytes, last %u, queue %u, MSN %u, "
			"offset %u",
			i, side, have->opcode, have->bytes, have->last, have->queue, have->msn,
			have->offset);
	}
	ck_assert_uint_eq(tcp.count[side], count);
}

static void finish(void)
{
	run_quiet();
	drain(w.a.request);
	drain(w.b.recv);
}

/* ---- contents ---- */

START_TEST(messages_are_segments_of_their_queues_in_the_order_of_posting)
{
	static const struct ddp asker[] = {
		{ RDMAP_WRITE, 0, 1, 0, 0, 0 }, /* ready to receive */
		{ RDMAP_SEND, MTU, 0, 0, 1, 0 },        { RDMAP_SEND, MTU, 0, 0, 1, MTU },
		{ RDMAP_SEND, MTU, 0, 0, 1, 2 * MTU },  { RDMAP_SEND, MTU - 3, 1, 0, 1, 3 * MTU },
		{ RDMAP_SEND, 0, 1, 0, 2, 0 },          { RDMAP_WRITE, MTU, 0, 0, 0, 0 },
		{ RDMAP_WRITE, MTU, 0, 0, 0, MTU },     { RDMAP_WRITE, MTU, 0, 0, 0, 2 * MTU },
		{ RDMAP_WRITE, MTU, 1, 0, 0, 3 * MTU }, { RDMAP_WRITE, 1, 1, 0, 0, 0 },
		{ RDMAP_READ_REQUEST, 28, 1, 1, 1, 0 }, { RDMAP_READ_REQUEST, 28, 1, 1, 2, 0 },
		{ RDMAP_SEND, SHORT, 1, 0, 3, 0 },
	};
	static const struct ddp other[] = {
		{ RDMAP_READ_RESPONSE, MTU, 0, 0, 0, 0 },
		{ RDMAP_READ_RESPONSE, MTU, 0, 0, 0, MTU },
		{ RDMAP_READ_RESPONSE, MTU, 0, 0, 0, 2 * MTU },
		{ RDMAP_READ_RESPONSE, MTU, 1, 0, 0, 3 * MTU },
		{ RDMAP_READ_RESPONSE, SHORT, 1, 0, 0, 0 },
	};

	traced();
	rdma_pair(4, 4);
	post_recvs(&w.b, w.b.ep, 0, 3);
	post_send(&w.a, w.a.ep, 0, LONG - 3);
	post_send(&w.a, w.a.ep, 1, 0);
	post_write(&w.a, w.a.ep, 2, remote(&w.b, 2, LONG));
	post_write(&w.a, w.a.ep, 3, remote(&w.b, 3, 1));
	post_read(&w.a, w.a.ep, 4, remote(&w.b, 4, LONG));
	post_read(&w.a, w.a.ep, 5, remote(&w.b, 5, SHORT));
	post_send(&w.a, w.a.ep, 6, SHORT);
	finish();
	capture();
	expect_ddp(0, asker, COUNT(asker));
	expect_ddp(1, other, COUNT(other));
	ck_assert_uint_eq(tcp.seen[file.count - 1].ack - 1, tcp.length[0]);
}
END_TEST

static const struct seen *find(uint8_t flags, int side, size_t *from)
{
	for (; *from < file.count; ++*from)
		if (tcp.seen[*from].flags == flags && tcp.seen[*from].side == side)
			return &tcp.seen[(*from)++];
	ck_abort_msg("no segment with flags 0x%02x of side %d", flags, side);
	return NULL;
}

START_TEST(a_connection_begins_with_a_handshake_and_ends_with_FIN)
{
	const struct seen *seen;
	size_t at = 0;

	traced();
	rdma_pair(3, 4);
	disconnect_pair();
	capture();
	seen = find(TCP_SYN, 0, &at);
	ck_assert_uint_eq(seen->to_port, QUAL);
	ck_assert_uint_eq(find(TCP_SYN | TCP_ACK, 1, &at)->ack, 1);
	ck_assert_uint_eq(find(TCP_ACK, 0, &at)->ack, 1);
	seen = find(TCP_PUSH | TCP_ACK, 0, &at);
	ck_assert_uint_eq(seen->at, 1);
	ck_assert_uint_eq(seen->length, 24);
	ck_assert(strstr(seen->frame->comment, "op=CM_REQ"));
	ck_assert_uint_eq(get_net(seen->data + 22, 2), 0x8000u | 3); /* outstanding Reads */
	seen = find(TCP_PUSH | TCP_ACK, 1, &at);
	ck_assert_uint_eq(seen->ack, 25);
	ck_assert_uint_ne(seen->frame->interface, tcp.seen[0].frame->interface);
	find(TCP_PUSH | TCP_ACK, 0, &at); /* ready to receive */
	seen = find(TCP_FIN | TCP_ACK, 0, &at);
	ck_assert_uint_eq(seen->at, 1 + 24 + fpdu_bytes(RDMAP_WRITE, 0));
	ck_assert_uint_eq(at, file.count);
}
END_TEST

START_TEST(private_data_is_MPAs)
{
	static unsigned char asked[256], answered[3] = { 9, 8, 7 };
	DAT_CR_HANDLE cr;
	size_t i;

	for (i = 0; i < sizeof(asked); i++)
		asked[i] = (unsigned char)(i * 3 + 1);
	traced();
	listen_at(&w.b, QUAL);
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	must(dat_ep_connect(w.a.ep, address(&w.b), QUAL, DAT_TIMEOUT_INFINITE, sizeof(asked), asked,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	run_quiet();
	cr = expect_event(w.b.cr, DAT_CONNECTION_REQUEST_EVENT)
		     .event_data.cr_arrival_event_data.cr_handle;
	must(dat_cr_accept(cr, w.b.ep, sizeof(answered), answered));
	run_quiet();
	drain(w.a.connect);
	drain(w.b.connect);
	capture();
	ck_assert_uint_eq(get_net(tcp.bytes[0] + 18, 2), 4 + sizeof(asked));
	ck_assert_mem_eq(tcp.bytes[0] + 24, asked, sizeof(asked));
	ck_assert_uint_eq(get_net(tcp.bytes[1] + 18, 2), 4 + sizeof(answered));
	ck_assert_mem_eq(tcp.bytes[1] + 24, answered, sizeof(answered));
}
END_TEST

START_TEST(a_listener_says_no_in_MPA_and_nobody_with_a_reset)
{
	size_t at = 0;

	traced();
	w.a.ep = plain_ep(&w.a);
	if (_i) {
		must(dat_cr_reject(request(w.a.ep, &w.b, QUAL)));
	} else {
		must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	}
	run_quiet();
	drain(w.a.connect);
	read_capture();
	for (at = 0; at < file.count; at++)
		read_segment(&tcp.seen[at], &file.frames[at]);
	if (_i) {
		ck_assert_uint_eq(file.count, 5);
		ck_assert_uint_eq(tcp.seen[4].flags, TCP_FIN | TCP_PUSH | TCP_ACK);
		ck_assert_mem_eq(tcp.seen[4].data, "MPA ID Rep Frame", 16);
		ck_assert_uint_eq(tcp.seen[4].data[16], 0x70);
	} else {
		ck_assert_uint_eq(file.count, 2);
		ck_assert_uint_eq(tcp.seen[0].flags, TCP_SYN);
		ck_assert_uint_eq(tcp.seen[1].flags, TCP_RST | TCP_ACK);
		ck_assert_uint_eq(tcp.seen[1].ack, 1);
	}
}
END_TEST

/* ---- faults ---- */

START_TEST(what_overtakes_lies_behind_and_is_not_acknowledged_before)
{
	const struct seen *late = NULL, *early = NULL;
	size_t i;

	traced();
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 3);
	must(dat_sim_hold_message(w.a.ep, 1, 1));
	post_send(&w.a, w.a.ep, 0, LONG);
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	release_message(w.a.ep, 1);
	post_send(&w.a, w.a.ep, 2, SHORT);
	finish();
	capture(); /* the capture itself checks the acknowledgements */
	for (i = 0; i < file.count; i++) {
		if (strstr(tcp.seen[i].frame->comment, "message=2") && tcp.seen[i].length)
			early = &tcp.seen[i];
		if (strstr(tcp.seen[i].frame->comment, "op=SEND_LAST message=1"))
			late = &tcp.seen[i];
	}
	ck_assert(early && late && early < late);
	ck_assert_uint_eq(late->at + late->length, early->at);
	ck_assert_uint_eq(tcp.ddp[0][5].msn, 2);
	ck_assert_uint_eq(tcp.count[0], 1 + 4 + 1 + 1);
}
END_TEST

START_TEST(a_lost_segment_comes_again_with_its_sequence_number)
{
	const struct seen *lost = NULL, *again = NULL;
	size_t i;

	traced();
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 2);
	fault((DAT_SIM_FAULT){ .packets = DAT_SIM_PACKET_SEND,
			       .nth = 1,
			       .verdict = _i ? DAT_SIM_CORRUPT : DAT_SIM_DROP });
	post_send(&w.a, w.a.ep, 0, SHORT);
	post_send(&w.a, w.a.ep, 1, SHORT);
	finish();
	capture();
	for (i = 0; i < file.count; i++) {
		if (!strstr(tcp.seen[i].frame->comment, "op=SEND_ONLY") ||
		    !strstr(tcp.seen[i].frame->comment, "message=1"))
			continue;
		*(lost ? &again : &lost) = &tcp.seen[i];
	}
	ck_assert(lost && again);
	ck_assert(is_lost(lost->frame) && !is_lost(again->frame));
	ck_assert_uint_eq(again->at, lost->at);
	ck_assert_uint_eq(again->length, lost->length);
	ck_assert_int_eq(memcmp(again->frame->bytes + 34 + 16, lost->frame->bytes + 34 + 16, 2) ==
				 0,
			 !_i); /* the TCP check sum */
	ck_assert_uint_eq(tcp.count[0], 3);
}
END_TEST

static const struct {
	uint32_t control; /* control field of the Terminate */
	size_t bytes;
} refusals[] = {
	{ 0x1202c000, 4 + 2 + 18 },      /* no buffer */
	{ 0x1205c000, 4 + 2 + 18 },      /* too long */
	{ 0x1100c000, 4 + 2 + 14 },      /* a Write with a wrong key */
	{ 0x0100e000, 4 + 2 + 18 + 28 }, /* a Read with a wrong key */
};

START_TEST(a_refusal_is_a_terminate_with_its_reason)
{
	DAT_RMR_TRIPLET wrong = remote(&w.b, 1, SHORT);
	const struct seen *seen;
	size_t at = 0;

	wrong.rmr_context = w.b.rmr_context ^ 0x55;
	traced();
	rdma_pair(4, 4);
	if (_i == 1)
		must(dat_ep_post_recv(w.b.ep, 1, (DAT_LMR_TRIPLET[]){ segment(&w.b, 0, 8) },
				      cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
	if (_i < 2)
		post_send(&w.a, w.a.ep, 0, SHORT);
	else if (_i == 2)
		post_write(&w.a, w.a.ep, 1, wrong);
	else
		post_read(&w.a, w.a.ep, 1, wrong);
	finish();
	capture();
	drain(w.a.connect);
	drain(w.b.connect);
	ck_assert_uint_eq(tcp.count[1], 1);
	ck_assert_uint_eq(tcp.ddp[1][0].opcode, RDMAP_TERMINATE);
	ck_assert_uint_eq(tcp.ddp[1][0].queue, 2);
	ck_assert_uint_eq(tcp.ddp[1][0].bytes, refusals[_i].bytes);
	while (tcp.seen[at].side == 0 || tcp.seen[at].length < 40)
		at++;
	seen = &tcp.seen[at];
	ck_assert_uint_eq(get_net(seen->data + 2 + 18, 4), refusals[_i].control);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_iwarp(suite, messages_are_segments_of_their_queues_in_the_order_of_posting);
	unit_test_iwarp(suite, a_connection_begins_with_a_handshake_and_ends_with_FIN);
	unit_test_iwarp(suite, private_data_is_MPAs);
	unit_add(suite, a_listener_says_no_in_MPA_and_nobody_with_a_reset, 2, setup_sides_iwarp);
	unit_test_iwarp(suite, what_overtakes_lies_behind_and_is_not_acknowledged_before);
	unit_add(suite, a_lost_segment_comes_again_with_its_sequence_number, 2, setup_sides_iwarp);
	unit_add(suite, a_refusal_is_a_terminate_with_its_reason, COUNT(refusals),
		 setup_sides_iwarp);
}

UNIT_SUITE("capture_iwarp")
