/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tests/support/support.h - what the Check programs of tests/unit share.
 *
 * A test sees the library through <dat/udat.h> and <dat/sim.h> only. Each one runs in a process of
 * its own on a fresh fabric, begins and ends with no object alive, and lets only virtual time pass;
 * and each runs twice, traced and not. w.a (adapter emu0) is the side that connects and, as a rule,
 * sends; w.b (emu1) listens and receives.
 *
 * Expectations look at what is queued now; run_quiet() lets the world come to rest before.
 */
#ifndef TESTS_SUPPORT_SUPPORT_H
#define TESTS_SUPPORT_SUPPORT_H

#include <check.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <dat/udat.h>
#include <dat/sim.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
	SLOTS = 64,       /* buffers of a side */
	SLOT_SIZE = 1024, /* bytes: LONG packets */
	MTU = 256,        /* bytes of payload in a packet */
	LONG = SLOT_SIZE, /* a message of four packets */
	SHORT = 64,       /* a message of one */
	GUARD = 256,      /* bytes before and behind the slots that nobody may touch */
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
	DAT_RMR_CONTEXT rmr_context; /* of all slots, all privileges */
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
 * Fixtures: a fabric; with both sides open on it; on profile iwarp; with completions going to EVDs
 * that take software events, too.
 */
void setup_fabric(void);
void setup_sides(void);
void setup_sides_iwarp(void);
void setup_sides_mixed(void);
void teardown(void);

/* For tests that want another fabric: the configuration the fixtures use, and a fabric of it. */
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
/* Time for what may come. Nothing on a fabric. */
void device_settle(void);
/* Is it worth another look, after a moment? Never on a fabric. *until is 0 at first. */
bool device_again(DAT_UINT64 *until);
/* How long to wait for what should come. */
DAT_TIMEOUT device_patience_us(void);
/* This call failed: if it is one that a device has not, the test is skipped. */
void device_cannot(const char *call);
/* Is this test not for the device? And how many rows of a table are run there? */
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
/* Reserves for ep; NO_HANDLE: for one that is made for the request. */
DAT_RSP_HANDLE reserve(struct side *side, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep);
/* A PSP whose requests come with an EP. */
DAT_PSP_HANDLE listen_for_eps(struct side *side, DAT_CONN_QUAL qual);
DAT_EP_HANDLE ep_of_request(DAT_CR_HANDLE cr);
/* Gives an EP that was made for a request a PZ and EVDs. */
void configure(struct side *side, DAT_EP_HANDLE ep);
DAT_RETURN try_connect(DAT_EP_HANDLE ep, struct side *to, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout);
/* The request of ep at a listener of passive, delivered and not answered. */
DAT_CR_HANDLE request(DAT_EP_HANDLE ep, struct side *passive, DAT_CONN_QUAL qual);
/* Connects two EPs and reaps both ESTABLISHED events. */
void connect_eps(struct side *active, DAT_EP_HANDLE active_ep, struct side *passive,
		 DAT_EP_HANDLE passive_ep);
/* w.a.ep and w.b.ep, connected; in the other two w.b.ep draws from w.b.srq. */
void plain_pair(void);
void srq_pair(DAT_COUNT srq_size);
void srq_pair_with(DAT_COUNT srq_size, const DAT_EP_ATTR *b_attr);
/* Both sides out of the connection: w.a's EP disconnects abruptly, both events are reaped. */
void disconnect_pair(void);

/* An EP of w.a in a state that public calls can bring it to; w.b is the peer. */
extern const DAT_EP_STATE reachable_states[];
enum {
	REACHABLE_STATES = 9
};
DAT_EP_HANDLE ep_in_state(DAT_EP_STATE state);
/* The subtype that names a state in a DAT_INVALID_STATE. */
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
/* Posts a long message, number `message` of its connection, of which one packet arrives. */
void send_half(struct side *side, DAT_EP_HANDLE ep, int message, int n);
void release_message(DAT_EP_HANDLE ep, int message);
void fill_slot(struct side *side, int n, int seed);
bool slot_holds(struct side *side, int n, int seed, size_t length);

/* ---- RDMA ---- */

/* w.a.ep and w.b.ep, connected; w.a has at most so many Reads under way, w.b answers so many. */
void rdma_pair(DAT_COUNT reads_out, DAT_COUNT reads_in);
/* Slot n of a side, as its peer names it. */
DAT_RMR_TRIPLET remote(struct side *side, int n, DAT_VLEN length);
/* From and to slot n; as many bytes as the remote segment has. */
DAT_RETURN try_write(struct side *side, DAT_EP_HANDLE ep, int n, DAT_RMR_TRIPLET to, int flags);
DAT_RETURN try_read(struct side *side, DAT_EP_HANDLE ep, int n, DAT_RMR_TRIPLET from, int flags);
void post_write(struct side *side, DAT_EP_HANDLE ep, int n, DAT_RMR_TRIPLET to);
void post_read(struct side *side, DAT_EP_HANDLE ep, int n, DAT_RMR_TRIPLET from);
DAT_RMR_HANDLE make_rmr(struct side *side);
/* Bind to slot n; the cookie is n. Length 0 unbinds. */
DAT_RETURN try_bind(DAT_RMR_HANDLE rmr, struct side *side, DAT_EP_HANDLE ep, int n, DAT_VLEN length,
		    int privileges, DAT_RMR_CONTEXT *context);
DAT_RMR_CONTEXT post_bind(DAT_RMR_HANDLE rmr, struct side *side, DAT_EP_HANDLE ep, int n,
			  DAT_VLEN length, int privileges);
/* Both connect EVDs say the connection broke. */
void expect_pair_broken(void);

/* ---- packet faults ---- */

/* The retry timer and counter of the fixtures' fabric. */
#define RETRY_NS UINT64_C(1000000)
#define RETRIES  7

DAT_COUNT fault(DAT_SIM_FAULT rule);
/* The nth (0: every) packet of these kinds is lost. */
DAT_COUNT drop(int packets, DAT_UINT64 nth);
DAT_UINT64 fired(DAT_COUNT id);
/* That connection event and no other; the Endpoint is DISCONNECTED. */
void expect_end(struct side *side, int number);

/* ---- expectations ---- */

#define SUPPORT_TEXT_(x) #x
#define SUPPORT_TEXT(x)  SUPPORT_TEXT_(x)
#define HERE             __FILE__ ":" SUPPORT_TEXT(__LINE__)

/* In place of a subtype that no ruling and no header names. */
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

/* Ruling G1: class error, that type, that subtype. */
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

/* The oldest event on the EVD is of this number. */
#define expect_event(evd, number) expect_event_(HERE, (evd), (int)(number))
#define expect_no_event(evd)      expect_no_event_(HERE, (evd))
/* It is a completion of this EP's DTO of slot n, with this status. */
#define expect_dto(evd, ep, n, status) expect_dto_(HERE, (evd), (ep), (n), (status))
/* A bind's completion: of this RMR, by the slot it was bound to. */
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
/* The next EVD that the CNO hands out, without waiting, is this one; is none. */
#define expect_notified(cno, evd)           expect_notified_(HERE, (cno), (evd))
#define expect_silence(cno)                 expect_silence_(HERE, (cno))
#define expect_state(ep, state)             expect_state_(HERE, (ep), (state))
#define expect_recv_counts(ep, nbufs, span) expect_recv_counts_(HERE, (ep), (nbufs), (span))
#define srq_counts(srq, max, available, outstanding) \
	srq_counts_(HERE, (srq), (max), (available), (outstanding))

/* Takes every event off an EVD; the number of them. */
int drain(DAT_EVD_HANDLE evd);
/* Fills an EVD with software events until it is full; the number of them. */
int stuff(DAT_EVD_HANDLE evd);
void post_se(DAT_EVD_HANDLE evd, int n);

/* ---- suites ---- */

void unit_add(Suite *suite, const TTest *test, int times, SFun setup);
/* A test case of a name of its own, for _i = first .. last - 1; tables make a case of each row. */
void unit_add_case(Suite *suite, const char *name, const TTest *test, int first, int last,
		   SFun setup);
int unit_run(const char *name, void (*fill)(Suite *suite), enum fork_status forks);
/* On the device of tests/stubverbs, of a program that is linked with it; a process for each test. */
int unit_run_on_stub(const char *name, void (*fill)(Suite *suite));

/*
 * A test with both sides open; with a fabric only; on profile iwarp; in all worlds that may make no
 * difference (both profiles, and EVDs that take other streams beside); for _i = 0 .. times - 1
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
/* One that has threads among tests for which the process must have one: a process each, always. */
#define UNIT_SUITE_OF_PROCESSES(name)                 \
	int main(void)                                \
	{                                             \
		return unit_run(name, fill, CK_FORK); \
	}

#endif /* TESTS_SUPPORT_SUPPORT_H */
