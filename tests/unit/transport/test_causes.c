/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors keep their cause: a table of all causes that can fail a request or a connection. Each is
 * provoked, and the statuses and events at both ends are compared. The rows are those of
 * emu/wire/cause.c and lib/cause.c.
 */
#include <arpa/inet.h>

#include "emu/fabric/fabric.h"
#include "lib/ep/ep.h"
#include "tests/support/support.h"

#define BROKEN DAT_CONNECTION_EVENT_BROKEN

enum {
	REQUEST = 1,  /* cookie of the request that fails */
	RECEIVE = 20, /* cookie of the Receive that it takes */
	READS = 2
};

/* ---- how to provoke each cause: w.a sends requests, w.b responds ---- */

static void connected(void)
{
	rdma_pair(READS, READS);
}

static void send_one(void)
{
	post_send(&w.a, w.a.ep, REQUEST, SHORT);
	run_quiet();
}

static void no_buffer(void)
{
	connected();
	send_one();
}

static void nobody_answers(void)
{
	connected();
	drop(DAT_SIM_PACKET_SEND, 0);
	post_recv(&w.b, w.b.ep, RECEIVE);
	send_one();
}

static void over_the_hard_mark(void)
{
	connected();
	post_recv(&w.b, w.b.ep, RECEIVE);
	must(dat_ep_set_watermark(w.b.ep, DAT_WATERMARK_INFINITE, 0));
	send_one();
}

static void too_long(void)
{
	DAT_LMR_TRIPLET iov = segment(&w.b, RECEIVE, SHORT - 1);

	connected();
	must(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(RECEIVE), DAT_COMPLETION_DEFAULT_FLAG));
	send_one();
}

static void free_region(struct side *side)
{
	must(dat_lmr_free(side->lmr));
}

static void receive_into_freed_memory(void)
{
	connected();
	post_recv(&w.b, w.b.ep, RECEIVE);
	free_region(&w.b);
	send_one();
}

static void send_from_freed_memory(void)
{
	connected();
	post_recv(&w.b, w.b.ep, RECEIVE);
	post_send(&w.a, w.a.ep, REQUEST, SHORT);
	free_region(&w.a);
	run_quiet();
}

static void write_to_freed_memory(void)
{
	connected();
	post_recv(&w.b, w.b.ep, RECEIVE);
	free_region(&w.b);
	post_write(&w.a, w.a.ep, REQUEST, remote(&w.b, 5, SHORT));
	run_quiet();
}

static void read_of_memory_freed_half_way(void)
{
	connected();
	post_recv(&w.b, w.b.ep, RECEIVE);
	must(dat_sim_hold_link(w.sim, "emu1", "emu0", 1));
	post_read(&w.a, w.a.ep, REQUEST, remote(&w.b, 5, LONG));
	run_quiet();
	free_region(&w.b);
	release_link("emu1", "emu0");
	run_quiet();
}

static void read_into_freed_memory(void)
{
	connected();
	post_recv(&w.b, w.b.ep, RECEIVE);
	post_read(&w.a, w.a.ep, REQUEST, remote(&w.b, 5, SHORT));
	free_region(&w.a);
	run_quiet();
}

static void nak(DAT_SIM_NAK_CODE code)
{
	connected();
	post_recv(&w.b, w.b.ep, RECEIVE);
	fault((DAT_SIM_FAULT){ .verdict = DAT_SIM_NAK, .nak = code });
	send_one();
}

static void nak_invalid(void)
{
	nak(DAT_SIM_NAK_INVALID_REQUEST);
}

static void nak_access(void)
{
	nak(DAT_SIM_NAK_REMOTE_ACCESS);
}

static void nak_operation(void)
{
	nak(DAT_SIM_NAK_REMOTE_OPERATION);
}

static void nak_reserved(void)
{
	nak(DAT_SIM_NAK_RESERVED);
}

/* ---- causes that no program can provoke: from inside the fabric ---- */

static struct emu_local_qp *inside(DAT_EP_HANDLE ep)
{
	const struct handle_slot *slot = ep;

	return emu_local_qp(((const struct ep *)slot->object)->nic);
}

/* dat_cr_accept prevents an Endpoint from starting more Reads than the peer serves. */
static void one_read_too_many(void)
{
	connected();
	post_recv(&w.b, w.b.ep, RECEIVE);
	inside(w.b.ep)->entry->max_rd_in = 0;
	post_read(&w.a, w.a.ep, REQUEST, remote(&w.b, 5, SHORT));
	run_quiet();
}

/* The key is bad as well; a responder looks for room for the Read before it looks at its key. */
static void one_read_too_many_with_a_bad_key(void)
{
	DAT_RMR_TRIPLET from;

	connected();
	post_recv(&w.b, w.b.ep, RECEIVE);
	inside(w.b.ep)->entry->max_rd_in = 0;
	from = remote(&w.b, 5, SHORT);
	from.rmr_context++;
	post_read(&w.a, w.a.ep, REQUEST, from);
	run_quiet();
}

/* dat_ep_post_rdma_read refuses a local buffer that is too small. */
static void answer_too_long(void)
{
	struct emu_local_qp *qp;
	struct emu_swqe *wqe;

	connected();
	post_recv(&w.b, w.b.ep, RECEIVE);
	post_read(&w.a, w.a.ep, REQUEST, remote(&w.b, 5, SHORT));
	qp = inside(w.a.ep);
	wqe = emu_wqe(qp->world, &qp->entry->sq, qp->entry->sq.get);
	wqe->sge[0].length--;
	run_quiet();
}

/* A partly received message needs memory for its state. */
static void no_memory(void)
{
	struct emu_fabric *fab;
	emu_ref lists[EMU_POOL_CLASSES];
	uint32_t next;

	connected();
	post_recv(&w.b, w.b.ep, RECEIVE);
	post_send(&w.a, w.a.ep, REQUEST, LONG);
	fab = inside(w.a.ep)->world->fab;
	memcpy(lists, fab->pool_free, sizeof(lists));
	next = fab->pool_next;
	memset(fab->pool_free, 0, sizeof(lists));
	fab->pool_next = fab->pool_end;
	run_quiet();
	memcpy(fab->pool_free, lists, sizeof(lists));
	fab->pool_next = next;
}

static void peer_disconnects(void)
{
	connected();
	post_recv(&w.b, w.b.ep, RECEIVE);
	drop(DAT_SIM_PACKET_SEND, 0);
	post_send(&w.a, w.a.ep, REQUEST, SHORT);
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
}

#define ANY_STATUS (-1)

static const struct {
	const char *cause;
	void (*bring_about)(void);
	bool on_ib, on_iwarp;
	int request, receive; /* DTO status; ANY_STATUS: no completion */
	int end_a, end_b;
} rows[] = {
	{ "RNR", no_buffer, true, false, DAT_DTO_ERR_RECEIVER_NOT_READY, ANY_STATUS, BROKEN,
	  BROKEN },
	{ "NO_BUFFER", no_buffer, false, true, DAT_DTO_ERR_RECEIVER_NOT_READY, ANY_STATUS, BROKEN,
	  BROKEN },
	{ "RETRY", nobody_answers, true, true, DAT_DTO_ERR_TRANSPORT, DAT_DTO_ERR_FLUSHED, BROKEN,
	  BROKEN },
	{ "OVER_LIMIT", over_the_hard_mark, true, true, DAT_DTO_ERR_REMOTE_RESPONDER,
	  DAT_DTO_ERR_FLUSHED, BROKEN, BROKEN },
	{ "TOO_LONG", too_long, true, true, DAT_DTO_ERR_REMOTE_RESPONDER, DAT_DTO_ERR_LOCAL_LENGTH,
	  BROKEN, BROKEN },
	{ "TARGET", receive_into_freed_memory, true, true, DAT_DTO_ERR_REMOTE_RESPONDER,
	  DAT_DTO_ERR_LOCAL_PROTECTION, BROKEN, BROKEN },
	{ "SOURCE", send_from_freed_memory, true, true, DAT_DTO_ERR_LOCAL_PROTECTION,
	  DAT_DTO_ERR_FLUSHED, BROKEN, BROKEN },
	{ "REMOTE_KEY", write_to_freed_memory, true, true, DAT_DTO_ERR_REMOTE_ACCESS,
	  DAT_DTO_ERR_FLUSHED, BROKEN, BROKEN },
	{ "READ_KEY", read_of_memory_freed_half_way, true, true, DAT_DTO_ERR_REMOTE_ACCESS,
	  DAT_DTO_ERR_FLUSHED, BROKEN, BROKEN },
	{ "READ_TARGET", read_into_freed_memory, true, true, DAT_DTO_ERR_LOCAL_PROTECTION,
	  DAT_DTO_ERR_FLUSHED, BROKEN, BROKEN },
	{ "NAK_INVALID", nak_invalid, true, true, DAT_DTO_ERR_REMOTE_RESPONDER, DAT_DTO_ERR_FLUSHED,
	  BROKEN, BROKEN },
	{ "NAK_ACCESS", nak_access, true, true, DAT_DTO_ERR_REMOTE_ACCESS, DAT_DTO_ERR_FLUSHED,
	  BROKEN, BROKEN },
	{ "NAK_OPERATION", nak_operation, true, true, DAT_DTO_ERR_REMOTE_RESPONDER,
	  DAT_DTO_ERR_FLUSHED, BROKEN, BROKEN },
	{ "NAK_RESERVED", nak_reserved, true, true, DAT_DTO_ERR_BAD_RESPONSE, DAT_DTO_ERR_FLUSHED,
	  BROKEN, BROKEN },
	{ "TOO_MANY_READS", one_read_too_many, true, true, DAT_DTO_ERR_REMOTE_RESPONDER,
	  DAT_DTO_ERR_FLUSHED, BROKEN, BROKEN },
	{ "TOO_MANY_READS", one_read_too_many_with_a_bad_key, true, true,
	  DAT_DTO_ERR_REMOTE_RESPONDER, DAT_DTO_ERR_FLUSHED, BROKEN, BROKEN },
	{ "READ_LENGTH", answer_too_long, true, true, DAT_DTO_ERR_LOCAL_LENGTH, DAT_DTO_ERR_FLUSHED,
	  BROKEN, BROKEN },
	{ "NO_MEMORY", no_memory, true, true, DAT_DTO_ERR_REMOTE_RESPONDER, DAT_DTO_ERR_LOCAL_EP,
	  BROKEN, BROKEN },
	{ NULL, peer_disconnects, true, true, DAT_DTO_ERR_FLUSHED, DAT_DTO_ERR_FLUSHED,
	  DAT_CONNECTION_EVENT_DISCONNECTED, DAT_CONNECTION_EVENT_DISCONNECTED },
};

/* The trace, if there is one, names the cause. */
static void expect_cause(const char *cause)
{
	const char *text = NULL;
	char line[64];
	size_t length;

	must(dat_sim_trace_read(w.sim, &text, &length));
	if (!strstr(text, " state from="))
		return;
	snprintf(line, sizeof(line), " fail cause=%s ", cause ? cause : "");
	ck_assert_msg(!strstr(text, " fail cause=") == !cause && (!cause || strstr(text, line)),
		      "the trace does not name %s", cause ? cause : "no cause");
}

static void walk(int i)
{
	rows[i].bring_about();
	expect_dto(w.a.request, w.a.ep, REQUEST, rows[i].request);
	expect_no_event(w.a.request);
	if (rows[i].receive != ANY_STATUS)
		expect_dto(w.b.recv, w.b.ep, RECEIVE, rows[i].receive);
	expect_no_event(w.b.recv);
	expect_end(&w.a, rows[i].end_a);
	expect_end(&w.b, rows[i].end_b);
	expect_no_event(w.a.async);
	expect_no_event(w.b.async);
	expect_cause(rows[i].cause);
}

START_TEST(each_cause_has_its_own_status_and_events_on_ib)
{
	if (rows[_i].on_ib)
		walk(_i);
}
END_TEST

START_TEST(each_cause_has_its_own_status_and_events_on_iwarp)
{
	if (rows[_i].on_iwarp)
		walk(_i);
}
END_TEST

/* A bind concerns w.b alone: no peer requested it. */
START_TEST(the_cause_BIND)
{
	DAT_RMR_HANDLE rmr;

	connected();
	rmr = make_rmr(&w.b);
	hold_link("emu0", "emu1"); /* a preceding message that is held */
	post_send(&w.b, w.b.ep, 0, SHORT);
	post_recv(&w.a, w.a.ep, RECEIVE);
	post_bind(rmr, &w.b, w.b.ep, REQUEST, SHORT, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	run_quiet();
	must(dat_rmr_free(rmr));
	release_link("emu0", "emu1");
	run_quiet();
	expect_dto(w.b.request, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_bind(w.b.request, rmr, REQUEST, DAT_RMR_OPERATION_FAILED);
	expect_end(&w.b, BROKEN);
	expect_end(&w.a, BROKEN);
	expect_cause("BIND");
}
END_TEST

/* ---- events on the asynchronous EVD, for errors that break a connection and others ---- */

START_TEST(an_overflow_is_told_and_breaks_who_fed_the_EVD)
{
	DAT_EVENT event;
	int n;

	w.b.recv = make_evd(&w.b, 1, DAT_EVD_DTO_FLAG);
	connected();
	post_recvs(&w.b, w.b.ep, RECEIVE, 3);
	for (n = 0; n < 3; n++)
		post_send(&w.a, w.a.ep, n, SHORT);
	run_quiet();
	event = expect_event(w.b.async, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	ck_assert_ptr_eq(event.event_data.asynch_error_event_data.dat_handle, w.b.recv);
	expect_end(&w.a, BROKEN);
	expect_end(&w.b, BROKEN);
}
END_TEST

START_TEST(watermarks_are_told_and_break_nothing)
{
	srq_pair(10);
	post_srqs(&w.b, RECEIVE, 3);
	must(dat_srq_set_lw(w.b.srq, 3));
	must(dat_ep_set_watermark(w.b.ep, 0, DAT_WATERMARK_INFINITE));
	send_one();
	expect_low_watermark(w.b.async, w.b.srq);
	expect_soft_watermark(w.b.async, w.b.ep);
	expect_no_event(w.b.connect);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

/* ---- connections that cannot be established ---- */

static void ask(DAT_TIMEOUT timeout)
{
	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, timeout));
	run_quiet();
}

static void nobody_listens(void)
{
	ask(DAT_TIMEOUT_INFINITE);
}

static void rejected(void)
{
	w.a.ep = plain_ep(&w.a);
	must(dat_cr_reject(request(w.a.ep, &w.b, QUAL)));
	run_quiet();
}

static void no_time(void)
{
	listen_at(&w.b, QUAL);
	ask(1000);
}

static void host_dead(void)
{
	fault((DAT_SIM_FAULT){ .verdict = DAT_SIM_HOST_DEAD, .to = "emu1" });
	ask(DAT_TIMEOUT_INFINITE);
}

START_TEST(each_end_of_a_set_up_has_its_own_event)
{
	static const struct {
		void (*bring_about)(void);
		int event;
	} ends[] = {
		{ nobody_listens, DAT_CONNECTION_EVENT_NON_PEER_REJECTED },
		{ rejected, DAT_CONNECTION_EVENT_PEER_REJECTED },
		{ no_time, DAT_CONNECTION_EVENT_TIMED_OUT },
		{ host_dead, DAT_CONNECTION_EVENT_TIMED_OUT },
	};

	ends[_i].bring_about();
	expect_connection(w.a.connect, w.a.ep, ends[_i].event);
	expect_no_event(w.a.connect);
	expect_no_event(w.b.connect);
	expect_no_event(w.a.async);
}
END_TEST

START_TEST(an_adapter_that_is_not_open_is_unreachable)
{
	struct sockaddr_in to;

	memcpy(&to, address(&w.b), sizeof(to));
	to.sin_addr.s_addr = htonl(ntohl(to.sin_addr.s_addr) + 1); /* emu2 */
	w.a.ep = plain_ep(&w.a);
	must(dat_ep_connect(w.a.ep, (DAT_IA_ADDRESS_PTR)&to, QUAL, DAT_TIMEOUT_INFINITE, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_UNREACHABLE);
}
END_TEST

START_TEST(accepting_one_who_is_gone_is_an_accept_completion_error)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	run_quiet();
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

/*
 * The table has every status that the emulator can give; DAT_RMR_OPERATION_FAILED, the last one,
 * has no cause.
 */
START_TEST(the_table_has_every_status)
{
	int status;
	size_t i;

	for (status = DAT_DTO_ERR_FLUSHED; status < DAT_RMR_OPERATION_FAILED; status++) {
		bool there = false;

		for (i = 0; i < COUNT(rows); i++)
			there |= rows[i].request == status || rows[i].receive == status;
		/* No network causes it. */
		ck_assert_msg(there || status == DAT_DTO_ERR_PARTIAL_PACKET, "status %d has no row",
			      status);
	}
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, each_cause_has_its_own_status_and_events_on_ib, COUNT(rows));
	unit_add(suite, each_cause_has_its_own_status_and_events_on_iwarp, COUNT(rows),
		 setup_sides_iwarp);
	unit_test_all(suite, the_cause_BIND);
	unit_test_all(suite, an_overflow_is_told_and_breaks_who_fed_the_EVD);
	unit_test_all(suite, watermarks_are_told_and_break_nothing);
	unit_test_loop(suite, each_end_of_a_set_up_has_its_own_event, 4);
	unit_test_all(suite, an_adapter_that_is_not_open_is_unreachable);
	unit_test_all(suite, accepting_one_who_is_gone_is_an_accept_completion_error);
	unit_test_bare(suite, the_table_has_every_status);
}

UNIT_SUITE("causes")
