/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers that are gone. One in another process that is killed, or exits without closing its device:
 * the survivor's queue pair finds out by its own timer and retries, and nothing of the dead process
 * is left. And a queue pair that is destroyed: a new one has another number than those before it,
 * and gets nothing that was sent to these.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/support.h"
#include "verbs_pair.h"

#define TIMEOUT      8 /* 4.096 us times 256, about a millisecond */
#define TIMEOUT_NS   (4096ull << TIMEOUT)
#define AGAIN        3
#define PROCESSES    80 /* more than a fabric has adapters */
#define FABRIC_BYTES 48
#define MANY         40
#define ROOMY        4200 /* more QPs than the shorter form of a number has indices */
#define EDGE         4078 /* so many that only the next one has the shorter form */
#define LONGER       0x800000u

static struct verbs_end own;

/* What one end has to know of the other. */
struct address {
	uint32_t qpn, rkey, lid;
};

static struct address far;

/* How the peer ends. */
static void be_killed(void)
{
	raise(SIGKILL);
}

static void leave_at_once(void)
{
	_exit(0);
}

static void leave_by_exit(void)
{
	exit(0);
}

static void (*const endings[])(void) = { be_killed, leave_at_once, leave_by_exit };

static void join_fabric(void)
{
	char name[FABRIC_BYTES];

	snprintf(name, sizeof(name), "verbs_dead_%d", (int)getpid());
	setenv("DATSIM_FABRIC", name, 1);
}

static void put_address(int fd)
{
	struct address mine = { own.qp->qp_num, own.mr->rkey, own.port.lid };

	ck_assert_int_eq(write(fd, &mine, sizeof(mine)), sizeof(mine));
}

/* Open a device, exchange addresses, and connect. */
static void meet_peer(int in, int out, uint8_t rnr_retry)
{
	struct ibv_qp_attr attr;

	verbs_open(&own, 0);
	verbs_make_qp(&own);
	put_address(out);
	ck_assert_int_eq(read(in, &far, sizeof(far)), sizeof(far));
	for (int i = IBV_QPS_INIT; i <= IBV_QPS_RTS; i++) {
		attr = verbs_attr(&own, &own);
		attr.qp_state = (enum ibv_qp_state)i;
		attr.dest_qp_num = attr.rq_psn = far.qpn;
		attr.ah_attr.dlid = (uint16_t)far.lid;
		attr.timeout = TIMEOUT;
		attr.retry_cnt = AGAIN;
		attr.rnr_retry = rnr_retry;
		ck_assert_int_eq(ibv_modify_qp(own.qp, &attr, verbs_mask(attr.qp_state)), 0);
	}
	put_address(out); /* connected */
	ck_assert_int_eq(read(in, &far, sizeof(far)), sizeof(far));
}

/* However long that takes: time is real here. */
static struct ibv_wc wait_for_completion(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(own.cq, 1, &wc) == 0)
		;
	return wc;
}

/* The peer's buffer is at the same address: it is a fork. */
static void post_request(enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = { (uintptr_t)own.buffer, 64, own.mr->lkey };
	struct ibv_send_wr wr = verbs_wr(&own, opcode, &sge), *bad;

	wr.wr.rdma.rkey = far.rkey;
	ck_assert_int_eq(ibv_post_send(own.qp, &wr, &bad), 0);
}

/* The peer gets one message, if the survivor sends one, and ends with requests in its queues. */
static void __attribute__((noreturn)) run_peer(int in, int out, int how, bool gets)
{
	meet_peer(in, out, 7);
	if (gets) {
		ck_assert_int_eq(verbs_recv(&own, 1, 0, 64), 0);
		ck_assert_int_eq((int)wait_for_completion().status, (int)IBV_WC_SUCCESS);
		ck_assert_int_eq(verbs_recv(&own, 2, 0, 64), 0);
	}
	endings[how]();
	abort();
}

static pid_t start_peer(int how, bool gets)
{
	int there[2], back[2];
	pid_t pid;

	ck_assert_int_eq(pipe(there), 0);
	ck_assert_int_eq(pipe(back), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		run_peer(there[0], back[1], how, gets);
	meet_peer(back[0], there[1], 7);
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
	return pid;
}

static void wait_for_end(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
}

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * That a process is dead takes some milliseconds to be known. Until then its Receives take
 * messages, as they might have shortly before.
 */
static uint64_t send_until_one_fails(enum ibv_wr_opcode opcode, enum ibv_wc_status *status)
{
	uint64_t before;

	do {
		before = monotonic_ns();
		post_request(opcode);
		post_request(opcode);
		*status = wait_for_completion().status;
		if (*status == IBV_WC_SUCCESS)
			*status = wait_for_completion().status;
		else
			ck_assert_int_eq((int)wait_for_completion().status,
					 (int)IBV_WC_WR_FLUSH_ERR);
	} while (*status == IBV_WC_SUCCESS);
	return monotonic_ns() - before;
}

START_TEST(a_request_to_a_dead_peer_ends_when_its_retries_do)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						      IBV_WR_RDMA_READ };
	enum ibv_wc_status status;
	uint64_t took;
	pid_t pid;

	join_fabric();
	pid = start_peer(_i % 3, true);
	post_request(IBV_WR_SEND);
	ck_assert_int_eq((int)wait_for_completion().status, (int)IBV_WC_SUCCESS);
	wait_for_end(pid);
	ck_assert_int_eq((int)own.qp->state, (int)IBV_QPS_RTS);
	took = send_until_one_fails(opcodes[_i / 3], &status);
	ck_assert_int_eq((int)status, (int)IBV_WC_RETRY_EXC_ERR);
	ck_assert_uint_ge(took, (AGAIN + 1) * TIMEOUT_NS);
	ck_assert_int_eq((int)own.qp->state, (int)IBV_QPS_ERR);
	verbs_close(&own);
}
END_TEST

/* It waits for a Receive, for as long as it takes. */
START_TEST(a_request_that_waits_when_its_peer_dies_ends_too)
{
	pid_t pid;

	join_fabric();
	pid = start_peer(_i, false);
	post_request(IBV_WR_SEND);
	ck_assert_int_eq((int)wait_for_completion().status, (int)IBV_WC_RETRY_EXC_ERR);
	wait_for_end(pid);
	verbs_close(&own);
}
END_TEST

START_TEST(a_receive_is_left_posted_when_the_peer_dies)
{
	struct ibv_wc wc;
	pid_t pid;

	join_fabric();
	pid = start_peer(_i, false);
	ck_assert_int_eq(verbs_recv(&own, 1, 0, 64), 0);
	wait_for_end(pid);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(ibv_poll_cq(own.cq, 1, &wc), 0);
	ck_assert_int_eq((int)own.qp->state, (int)IBV_QPS_RTS);
	ck_assert_int_eq(verbs_modify(&own, &own, IBV_QPS_ERR), 0);
	ck_assert_int_eq((int)wait_for_completion().status, (int)IBV_WC_WR_FLUSH_ERR);
	verbs_close(&own);
}
END_TEST

/* A child has a device of its own; `own` stays its parent's, so that LeakSanitizer finds that. */
START_TEST(a_process_that_does_not_close_leaves_no_adapter)
{
	static struct verbs_end childs;
	pid_t pid;

	join_fabric();
	verbs_open(&own, 0);
	for (int i = 0; i < PROCESSES; i++) {
		pid = fork();
		ck_assert_int_ge(pid, 0);
		if (pid == 0) {
			verbs_open(&childs, 0);
			verbs_make_qp(&childs);
			endings[i % 3]();
		}
		wait_for_end(pid);
	}
	verbs_close(&own);
}
END_TEST

/* ---- a queue pair that is replaced ---- */

static struct verbs_end a, b;

/* Another QP in place of the old one, ready for what the old one was. */
static void replace_receiver(void)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };

	ck_assert_int_eq(ibv_destroy_qp(b.qp), 0);
	verbs_make_qp(&b);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(verbs_modify(&b, &a, states[i]), 0);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 100), 0);
}

static void post_datagram(struct ibv_ah *ah, uint32_t qpn)
{
	struct ibv_sge sge = { (uintptr_t)a.buffer, 8, a.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = VERBS_QKEY;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
}

static enum ibv_wc_status status_at(struct verbs_end *end)
{
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	ck_assert(verbs_poll(end, &wc));
	return wc.status;
}

static void expect_nothing(struct verbs_end *end)
{
	struct ibv_wc wc;

	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(ibv_poll_cq(end->cq, 1, &wc), 0);
}

static int by_number(const void *x, const void *y)
{
	uint32_t one = *(const uint32_t *)x, other = *(const uint32_t *)y;

	return one < other ? -1 : one > other;
}

START_TEST(one_that_is_created_has_the_number_of_none_before_it)
{
	uint32_t numbers[MANY];

	verbs_begin(&a, &b);
	for (int i = 0; i < MANY; i++) {
		numbers[i] = b.qp->qp_num;
		ck_assert_uint_lt(numbers[i], 0xffffff);
		ck_assert_int_eq(ibv_destroy_qp(b.qp), 0);
		verbs_make_qp(&b);
	}
	qsort(numbers, MANY, sizeof(numbers[0]), by_number);
	for (int i = 1; i < MANY; i++)
		ck_assert_uint_ne(numbers[i - 1], numbers[i]);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_datagram_for_one_that_was_destroyed_is_dropped)
{
	struct ibv_ah_attr attr = { .port_num = 1 };
	struct ibv_ah *ah;
	uint32_t old;

	verbs_begin_of(&a, &b, IBV_QPT_UD);
	attr.dlid = b.port.lid;
	ah = ibv_create_ah(a.pd, &attr);
	ck_assert_ptr_nonnull(ah);
	old = b.qp->qp_num;
	post_datagram(ah, old); /* in flight when the receiver is replaced */
	replace_receiver();
	ck_assert_int_eq((int)status_at(&a), (int)IBV_WC_SUCCESS);
	expect_nothing(&b);
	post_datagram(ah, old);
	ck_assert_int_eq((int)status_at(&a), (int)IBV_WC_SUCCESS);
	expect_nothing(&b);
	post_datagram(ah, b.qp->qp_num);
	ck_assert_int_eq((int)status_at(&a), (int)IBV_WC_SUCCESS);
	ck_assert_int_eq((int)status_at(&b), (int)IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(a_request_to_one_that_was_destroyed_finds_no_peer)
{
	verbs_begin(&a, &b);
	replace_receiver();
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	ck_assert_int_eq((int)status_at(&a), (int)IBV_WC_RETRY_EXC_ERR);
	expect_nothing(&b);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(an_unreliable_message_to_one_that_was_destroyed_is_dropped)
{
	verbs_begin_of(&a, &b, IBV_QPT_UC);
	replace_receiver();
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	ck_assert_int_eq((int)status_at(&a), (int)IBV_WC_SUCCESS);
	expect_nothing(&b);
	verbs_end_all(&a, &b);
}
END_TEST

/* The pair of the test, behind so many others. */
static void begin_behind(struct ibv_qp **others, int many)
{
	verbs_open(&a, 0);
	verbs_open(&b, 1);
	for (int i = 0; i < many; i++) {
		verbs_make_qp(&a);
		others[i] = a.qp;
	}
	verbs_make_qp(&a);
	verbs_make_qp(&b);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		ck_assert_int_eq(verbs_modify(&a, &b, (enum ibv_qp_state)state), 0);
		ck_assert_int_eq(verbs_modify(&b, &a, (enum ibv_qp_state)state), 0);
	}
}

START_TEST(thousands_have_a_number_each_and_are_replaced_likewise)
{
	static struct ibv_qp *others[ROOMY];
	static uint32_t numbers[ROOMY + 2];
	int many = _i ? EDGE : ROOMY;

	begin_behind(others, many);
	ck_assert_uint_eq(a.qp->qp_num >= LONGER, many == ROOMY);
	ck_assert_uint_ge(b.qp->qp_num, LONGER);
	for (int i = 0; i < many; i++)
		numbers[i] = others[i]->qp_num;
	numbers[many] = a.qp->qp_num;
	numbers[many + 1] = b.qp->qp_num;
	qsort(numbers, (size_t)many + 2, sizeof(numbers[0]), by_number);
	for (int i = 1; i < many + 2; i++)
		ck_assert_uint_ne(numbers[i - 1], numbers[i]);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 100), 0);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	ck_assert_int_eq((int)status_at(&a), (int)IBV_WC_SUCCESS);
	ck_assert_int_eq((int)status_at(&b), (int)IBV_WC_SUCCESS);
	replace_receiver();
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8, 0), 0);
	ck_assert_int_eq((int)status_at(&a), (int)IBV_WC_RETRY_EXC_ERR);
	expect_nothing(&b);
	for (int i = 0; i < many; i++)
		ck_assert_int_eq(ibv_destroy_qp(others[i]), 0);
	verbs_end_all(&a, &b);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_request_to_a_dead_peer_ends_when_its_retries_do, 9, NULL);
	unit_add(suite, a_request_that_waits_when_its_peer_dies_ends_too, 3, NULL);
	unit_add(suite, a_receive_is_left_posted_when_the_peer_dies, 3, NULL);
	unit_add(suite, a_process_that_does_not_close_leaves_no_adapter, 1, NULL);
	unit_add(suite, one_that_is_created_has_the_number_of_none_before_it, 1, NULL);
	unit_add(suite, a_datagram_for_one_that_was_destroyed_is_dropped, 1, NULL);
	unit_add(suite, a_request_to_one_that_was_destroyed_finds_no_peer, 1, NULL);
	unit_add(suite, an_unreliable_message_to_one_that_was_destroyed_is_dropped, 1, NULL);
	unit_add(suite, thousands_have_a_number_each_and_are_replaced_likewise, 2, NULL);
}

UNIT_SUITE("verbs_dead")
