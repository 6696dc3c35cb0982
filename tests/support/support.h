/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tests/support/support.h - what the Check programs of tests/unit share.
 *
 * A test sees the library through <dat/udat.h> and <dat/sim.h> only. Each one runs in a process of
 * its own on a fresh fabric, begins and ends with no object alive, and lets only virtual time pass;
 * and each runs twice, traced and not. w.a (adapter emu0) is the side that connects and, as a rule,
 * sends; w.b (emu1) listens and receives.
 *
 * Expectations look at the events that are queued now; run_quiet() first lets the fabric go idle.
 */
#ifndef TESTS_SUPPORT_SUPPORT_H
#define TESTS_SUPPORT_SUPPORT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <dat/udat.h>
#include <dat/sim.h>

#include "tests/support/asserts.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
	SLOTS = 64,       /* buffers of each side */
	SLOT_SIZE = 1024, /* bytes: a message of LONG */
	MTU = 256,        /* bytes of payload in a packet */
	LONG = SLOT_SIZE, /* a message of four packets */
	SHORT = 64,       /* a message of one packet */
	GUARD = 256,      /* bytes around the slots that must stay untouched */
	EVD_LENGTH = 64,
	LATENCY_NS = 1000,
};

#define QUAL      ((DAT_CONN_QUAL)0x1000)
#define NO_HANDLE DAT_HANDLE_NULL

/* ---- the world ---- */

struct side {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, recv, request, connect, cr;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context; /* covers all slots, all privileges */
	DAT_EP_HANDLE ep;
	DAT_SRQ_HANDLE srq;
	unsigned char memory[GUARD + SLOTS * SLOT_SIZE + GUARD];
};

struct world {
	DAT_SIM_HANDLE sim;
	struct side a, b;
};

extern struct world w;

/*
 * Fixtures: only a fabric; a fabric with both sides open; the same on profile iwarp; the same with
 * completion EVDs that also accept software events.
 */
void setup_fabric(void);
void setup_sides(void);
void setup_sides_iwarp(void);
void setup_sides_mixed(void);
void teardown(void);

/*
 * For tests that need a special fabric: the configuration of the fixtures, and a new fabric from
 * it.
 */
DAT_SIM_CONFIG fabric_config(DAT_SIM_PROFILE profile);
void fabric_create(const DAT_SIM_CONFIG *config);

void side_open(struct side *side, const char *adapter);
void side_close(struct side *side);

DAT_COUNT objects(DAT_HANDLE_TYPE type);
DAT_UINT64 now_ns(void);
void run_quiet(void);
void advance_us(DAT_UINT64 us);
void hold_link(const char *from, const char *to);
void release_link(const char *from, const char *to);

DAT_IA_ATTR ia_attr(struct side *side);
DAT_IA_ADDRESS_PTR address(struct side *side);

/* ---- on a verbs device in place of a fabric (device.c) ---- */

extern const char *device; /* NULL: on a fabric */
void device_begin(void);
/* Gives expected events time to come. Does nothing on a fabric. */
void device_settle(void);
/* Waits a moment and says whether to look again. Never on a fabric. *until is 0 at first. */
bool device_again(DAT_UINT64 *until);
/* The longest wait for an expected event */
DAT_TIMEOUT device_patience_us(void);
/* Before the first adapter is opened */
void device_count_threads(void);
/*
 * Waits until the passthrough has its event thread only: a process that ends earlier leaves what is
 * in the destroy queue (passthrough/deferred.c), which valgrind takes for lost.
 */
void device_await_destroyed(void);
/* Skips the test if this call failed because the device does not implement it. */
void device_cannot(const char *call);
/* Does the device skip this test, and how many rows of a table does it run? */
bool device_skips(const char *test);
int device_rows(int rows);

/* ---- endpoints and connections ---- */

DAT_EP_ATTR ep_attr(void);
DAT_EP_HANDLE plain_ep(struct side *side);
DAT_EP_HANDLE plain_ep_with(struct side *side, const DAT_EP_ATTR *attr);
DAT_SRQ_HANDLE make_srq(struct side *side, DAT_COUNT size, DAT_COUNT low_watermark);
DAT_EP_HANDLE srq_ep(struct side *side, DAT_SRQ_HANDLE srq);
DAT_EP_HANDLE srq_ep_with(struct side *side, DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr);
DAT_EVD_HANDLE make_evd(struct side *side, DAT_COUNT length, int flags);
/* A CNO without an agent. */
DAT_CNO_HANDLE quiet_cno(struct side *side);

DAT_PSP_HANDLE listen_at(struct side *side, DAT_CONN_QUAL qual);
/* Reserves a service point for ep; NO_HANDLE: for an EP that is made for the request. */
DAT_RSP_HANDLE reserve(struct side *side, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep);
/* A PSP whose requests come with an Endpoint */
DAT_PSP_HANDLE listen_for_eps(struct side *side, DAT_CONN_QUAL qual);
DAT_EP_HANDLE ep_of_request(DAT_CR_HANDLE cr);
/* Gives an EP that was made for a request its PZ and EVDs. */
void configure(struct side *side, DAT_EP_HANDLE ep);
DAT_RETURN try_connect(DAT_EP_HANDLE ep, struct side *to, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout);
/* Connects ep to a listener of `passive`; the request is delivered, not yet answered. */
DAT_CR_HANDLE request(DAT_EP_HANDLE ep, struct side *passive, DAT_CONN_QUAL qual);
/* Connects two EPs and reaps both ESTABLISHED events. */
void connect_eps(struct side *active, DAT_EP_HANDLE active_ep, struct side *passive,
		 DAT_EP_HANDLE passive_ep);
/* w.a.ep and w.b.ep, connected; the other two variants give w.b.ep the queue w.b.srq. */
void plain_pair(void);
void srq_pair(DAT_COUNT srq_size);
void srq_pair_with(DAT_COUNT srq_size, const DAT_EP_ATTR *b_attr);
/* Two more after one of these; that of w.b has the same queue. */
void second_srq_pair(DAT_EP_HANDLE *a2, DAT_EP_HANDLE *b2);
/*
 * Two short messages from w.b and five from w.a: no two counters of an Endpoint are equal. A plain
 * pair after that.
 */
void exchange_unevenly(void);
void uneven_pair(void);
/* Ends the connection: w.a's EP disconnects abruptly, both events are reaped. */
void disconnect_pair(void);

/* An EP of w.a in any state that public calls can reach; w.b is the peer. */
extern const DAT_EP_STATE reachable_states[];
enum {
	REACHABLE_STATES = 9
};
DAT_EP_HANDLE ep_in_state(DAT_EP_STATE state);
/* The DAT_INVALID_STATE subtype of a state */
DAT_UINT32 state_subtype(DAT_EP_STATE state);

/* ---- data; a DTO's cookie is the number of its slot ---- */

unsigned char *slot(struct side *side, int n);
DAT_LMR_TRIPLET segment(struct side *side, int n, DAT_VLEN length);
DAT_DTO_COOKIE cookie(int n);
void post_recv(struct side *side, DAT_EP_HANDLE ep, int n);
void post_recvs(struct side *side, DAT_EP_HANDLE ep, int first, int count);
void post_srq(struct side *side, int n);
void post_srqs(struct side *side, int first, int count);
DAT_RETURN try_post_srq(struct side *side, int n);
DAT_RETURN try_send(struct side *side, DAT_EP_HANDLE ep, int n, DAT_VLEN length);
void post_send(struct side *side, DAT_EP_HANDLE ep, int n, DAT_VLEN length);
/* Sends short messages, lets them arrive and reaps the Send completions. */
void deliver(struct side *side, DAT_EP_HANDLE ep, int messages);
/* Posts a long message, number `message` of its connection, and lets only one packet arrive. */
void send_half(struct side *side, DAT_EP_HANDLE ep, int message, int n);
void release_message(DAT_EP_HANDLE ep, int message);
void fill_slot(struct side *side, int n, int seed);
bool slot_holds(struct side *side, int n, int seed, size_t length);

/* ---- RDMA ---- */

/*
 * w.a.ep and w.b.ep, connected; w.a has at most reads_out Reads outstanding, w.b serves reads_in.
 */
void rdma_pair(DAT_COUNT reads_out, DAT_COUNT reads_in);
/* The remote triplet of slot n of a side */
DAT_RMR_TRIPLET remote(struct side *side, int n, DAT_VLEN length);
/* Transfers from or to slot n; the remote segment gives the length. */
DAT_RETURN try_write(struct side *side, DAT_EP_HANDLE ep, int n, DAT_RMR_TRIPLET to, int flags);
DAT_RETURN try_read(struct side *side, DAT_EP_HANDLE ep, int n, DAT_RMR_TRIPLET from, int flags);
void post_write(struct side *side, DAT_EP_HANDLE ep, int n, DAT_RMR_TRIPLET to);
void post_read(struct side *side, DAT_EP_HANDLE ep, int n, DAT_RMR_TRIPLET from);
DAT_RMR_HANDLE make_rmr(struct side *side);
/* Binds to slot n with cookie n. Length 0 unbinds. */
DAT_RETURN try_bind(DAT_RMR_HANDLE rmr, struct side *side, DAT_EP_HANDLE ep, int n, DAT_VLEN length,
		    int privileges, DAT_RMR_CONTEXT *context);
DAT_RMR_CONTEXT post_bind(DAT_RMR_HANDLE rmr, struct side *side, DAT_EP_HANDLE ep, int n,
			  DAT_VLEN length, int privileges);
/* Expects a BROKEN event on both connect EVDs. */
void expect_pair_broken(void);

/* ---- packet faults ---- */

/* The retry timer and retry count of the fixtures' fabric */
#define RETRY_NS UINT64_C(1000000)
#define RETRIES  7

DAT_COUNT fault(DAT_SIM_FAULT rule);
/* Drops the nth (0: every) packet of these kinds. */
DAT_COUNT drop(int packets, DAT_UINT64 nth);
DAT_UINT64 fired(DAT_COUNT id);
/* Expects this connection event and no other; the Endpoint is DISCONNECTED. */
void expect_end(struct side *side, int number);

/* ---- expectations ---- */

#define SUPPORT_TEXT_(x) #x
#define SUPPORT_TEXT(x)  SUPPORT_TEXT_(x)
#define HERE             __FILE__ ":" SUPPORT_TEXT(__LINE__)

/* Accepts any subtype: neither a ruling nor a header names one. */
#define ANY_SUBTYPE 0x10000u

const char *ret_text(DAT_RETURN ret);
bool is_failure(DAT_RETURN ret, DAT_UINT32 type, DAT_UINT32 subtype);

#define must(call)                                                                            \
	do {                                                                                  \
		DAT_RETURN must_ret = (call);                                                 \
		if (must_ret != DAT_SUCCESS)                                                  \
			device_cannot(#call);                                                 \
		ck_assert_msg(must_ret == DAT_SUCCESS, "%s: expected success, got %s", #call, \
			      ret_text(must_ret));                                            \
	} while (0)

/* Ruling G1: class error, this type, this subtype. */
#define must_fail(call, type, subtype)                                                \
	do {                                                                          \
		DAT_RETURN must_ret = (call);                                         \
		device_cannot(#call);                                                 \
		ck_assert_msg(is_failure(must_ret, (type), (subtype)),                \
			      "%s: expected %s | %s, got %s", #call, #type, #subtype, \
			      ret_text(must_ret));                                    \
	} while (0)

const char *event_text(const DAT_EVENT *event);
DAT_EVENT expect_event_(const char *where, DAT_EVD_HANDLE evd, int number);
void expect_no_event_(const char *where, DAT_EVD_HANDLE evd);
DAT_EVENT expect_dto_(const char *where, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, int n,
		      DAT_DTO_COMPLETION_STATUS status);
void expect_bind_(const char *where, DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr, int n,
		  DAT_DTO_COMPLETION_STATUS status);
DAT_EVENT expect_connection_(const char *where, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, int number);
DAT_EVENT expect_async_(const char *where, DAT_EVD_HANDLE evd, int number, DAT_HANDLE handle,
			int reason);
DAT_CR_HANDLE expect_request_(const char *where, DAT_EVD_HANDLE evd, DAT_PSP_HANDLE psp);
void expect_notified_(const char *where, DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd);
void expect_silence_(const char *where, DAT_CNO_HANDLE cno);
void expect_state_(const char *where, DAT_EP_HANDLE ep, DAT_EP_STATE state);
void expect_recv_counts_(const char *where, DAT_EP_HANDLE ep, DAT_COUNT nbufs, DAT_COUNT span);
void srq_counts_(const char *where, DAT_SRQ_HANDLE srq, DAT_COUNT max, DAT_COUNT available,
		 DAT_COUNT outstanding);

/* The oldest event on the EVD has this number. */
#define expect_event(evd, number) expect_event_(HERE, (evd), (int)(number))
#define expect_no_event(evd)      expect_no_event_(HERE, (evd))
/* It is the completion of this EP's DTO of slot n, with this status. */
#define expect_dto(evd, ep, n, status) expect_dto_(HERE, (evd), (ep), (n), (status))
/* It is the completion of a bind: of this RMR, to this slot. */
#define expect_bind(evd, rmr, n, status)   expect_bind_(HERE, (evd), (rmr), (n), (status))
#define expect_connection(evd, ep, number) expect_connection_(HERE, (evd), (ep), (int)(number))
#define expect_async(evd, number, handle, reason) \
	expect_async_(HERE, (evd), (int)(number), (handle), (int)(reason))
#define expect_low_watermark(evd, srq) \
	expect_async((evd), DAT_ASYNC_SRQ_LOW_WATERMARK, (srq), DAT_SRQ_LOW_WATERMARK_EVENT)
#define expect_soft_watermark(evd, ep)                              \
	expect_async((evd), DAT_ASYNC_EP_SOFT_HIGH_WATERMARK, (ep), \
		     DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT)
#define expect_request(evd, psp) expect_request_(HERE, (evd), (psp))
/* The CNO hands out this EVD next, without a wait; it hands out none. */
#define expect_notified(cno, evd)           expect_notified_(HERE, (cno), (evd))
#define expect_silence(cno)                 expect_silence_(HERE, (cno))
#define expect_state(ep, state)             expect_state_(HERE, (ep), (state))
#define expect_recv_counts(ep, nbufs, span) expect_recv_counts_(HERE, (ep), (nbufs), (span))
#define srq_counts(srq, max, available, outstanding) \
	srq_counts_(HERE, (srq), (max), (available), (outstanding))

/* Takes all events off an EVD and returns their number. */
int drain(DAT_EVD_HANDLE evd);
/* Fills an EVD with software events and returns their number. */
int stuff(DAT_EVD_HANDLE evd);
void post_se(DAT_EVD_HANDLE evd, int n);

/* ---- suites ---- */

void unit_add(Suite *suite, const TTest *test, int times, SFun setup);
/* A test case with a name of its own, for _i = first .. last - 1: tables make each row a case. */
void unit_add_case(Suite *suite, const char *name, const TTest *test, int first, int last,
		   SFun setup);
int unit_run(const char *name, void (*fill)(Suite *suite), enum fork_status forks);
/*
 * For a program that is linked with tests/stubverbs; a process for each test.
 */
int unit_run_on_stub(const char *name, void (*fill)(Suite *suite));

/*
 * A test with both sides open; with only a fabric; on profile iwarp; in every world that may make
 * no difference (both profiles, and EVDs that also take other streams); for _i = 0 .. times - 1
 */
#define unit_test(suite, test)       unit_add((suite), (test), 1, setup_sides)
#define unit_test_bare(suite, test)  unit_add((suite), (test), 1, setup_fabric)
#define unit_test_iwarp(suite, test) unit_add((suite), (test), 1, setup_sides_iwarp)
#define unit_test_all(suite, test)                               \
	do {                                                     \
		unit_add((suite), (test), 1, setup_sides);       \
		unit_add((suite), (test), 1, setup_sides_iwarp); \
		unit_add((suite), (test), 1, setup_sides_mixed); \
	} while (0)
#define unit_test_loop(suite, test, times) unit_add((suite), (test), (int)(times), setup_sides)

#define unit_test_loop_all(suite, test, times)                              \
	do {                                                                \
		unit_add((suite), (test), (int)(times), setup_sides);       \
		unit_add((suite), (test), (int)(times), setup_sides_iwarp); \
		unit_add((suite), (test), (int)(times), setup_sides_mixed); \
	} while (0)

#define UNIT_SUITE(name)                                     \
	int main(void)                                       \
	{                                                    \
		return unit_run(name, fill, CK_FORK_GETENV); \
	}
/* A test that starts threads, among tests that need a process with one thread: always forked. */
#define UNIT_SUITE_OF_PROCESSES(name)                 \
	int main(void)                                \
	{                                             \
		return unit_run(name, fill, CK_FORK); \
	}

#endif /* TESTS_SUPPORT_SUPPORT_H */
