/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_turns [ROUNDS] - the cost of a turn in lockstep: two processes send each other messages,
 * and each message is a switch between them. For comparison, two processes wake each other by bare
 * futexes. Both are measured several times, alternating; the best of each counts.
 */
#include <arpa/inet.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dat/sim.h>

#include "examples/pair/pair.h"

#define TIMES 5

static long rounds = 5000;

struct result {
	uint32_t turn; /* bare futex: the process that may run, 0 or 1 */
	double seconds;
};

static double now_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void wait_process(pid_t pid)
{
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		pair_fail("a process of this program failed");
}

/* ---- bare futexes ---- */

static void pass_turn(struct result *shared, uint32_t mine, uint32_t other)
{
	while (__atomic_load_n(&shared->turn, __ATOMIC_ACQUIRE) != mine)
		syscall(SYS_futex, &shared->turn, FUTEX_WAIT, other, NULL, NULL, 0);
	__atomic_store_n(&shared->turn, other, __ATOMIC_RELEASE);
	syscall(SYS_futex, &shared->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static double measure_futex(struct result *shared)
{
	double start = now_seconds();
	pid_t pid;

	shared->turn = 0;
	pid = fork();
	for (long i = 0; i < rounds; i++)
		pass_turn(shared, pid == 0, pid != 0);
	if (pid == 0)
		_exit(0);
	wait_process(pid);
	return now_seconds() - start;
}

/* ---- lockstep ---- */

struct end {
	struct pair_node node;
	DAT_EVD_HANDLE dto, connect, requests;
	DAT_EP_HANDLE ep;
};

static DAT_EVENT next_event(DAT_EVD_HANDLE evd)
{
	DAT_COUNT more;
	DAT_EVENT event;

	pair_check(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), "dat_evd_wait");
	return event;
}

static void post_receive(struct end *end)
{
	DAT_LMR_TRIPLET segment = pair_segment(&end->node, 0);
	DAT_DTO_COOKIE none = { .as_64 = 0 };

	pair_check(dat_ep_post_recv(end->ep, 1, &segment, none, DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_recv");
}

static void send_one(struct end *end)
{
	DAT_LMR_TRIPLET segment = pair_segment(&end->node, 1);
	DAT_DTO_COOKIE none = { .as_64 = 0 };

	segment.segment_length = 64;
	pair_check(dat_ep_post_send(end->ep, 1, &segment, none, DAT_COMPLETION_SUPPRESS_FLAG),
		   "dat_ep_post_send");
}

static void open_end(struct end *end)
{
	DAT_IA_HANDLE ia;

	pair_open(&end->node, "emu0", 2);
	ia = end->node.ia;
	pair_check(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &end->dto),
		   "dat_evd_create");
	pair_check(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &end->connect),
		   "dat_evd_create");
	pair_check(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &end->requests),
		   "dat_evd_create");
	pair_check(dat_ep_create(ia, end->node.pz, end->dto, end->dto, end->connect, NULL,
				 &end->ep),
		   "dat_ep_create");
	post_receive(end);
}

/* _exit without cleaning up: the other process has received everything that it waits for. */
static void run_server(void)
{
	struct end end;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	open_end(&end);
	pair_check(dat_psp_create(end.node.ia, PAIR_QUALIFIER, end.requests, DAT_PSP_CONSUMER_FLAG,
				  &psp),
		   "dat_psp_create");
	event = next_event(end.requests);
	pair_check(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, end.ep, 0, NULL),
		   "dat_cr_accept");
	next_event(end.connect);
	for (long i = 0; i < rounds; i++) {
		next_event(end.dto);
		post_receive(&end);
		send_one(&end);
	}
	next_event(end.connect);
	_exit(0);
}

static void run_client(struct result *result)
{
	struct sockaddr_in host = { .sin_family = AF_INET };
	struct end end;
	double start;

	open_end(&end);
	host.sin_addr.s_addr = htonl(0xc6120001); /* 198.18.0.1, of the first adapter */
	pair_check(dat_ep_connect(end.ep, (DAT_IA_ADDRESS_PTR)&host, PAIR_QUALIFIER,
				  DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG),
		   "dat_ep_connect");
	if (next_event(end.connect).event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		pair_fail("no connection to the server process");
	start = now_seconds();
	for (long i = 0; i < rounds; i++) {
		send_one(&end);
		next_event(end.dto);
		post_receive(&end);
	}
	result->seconds = now_seconds() - start;
	_exit(0);
}

static void wait_until_waiting(const char *fabric, DAT_COUNT i)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	DAT_SIM_MEMBER member;

	while (dat_sim_fabric_member(fabric, i, &member) != DAT_SUCCESS || !member.waiting)
		nanosleep(&ms, NULL);
}

static double measure_turns(struct result *result)
{
	char fabric[32];
	pid_t server, client;

	snprintf(fabric, sizeof(fabric), "bench-%d", getpid());
	setenv("DATSIM_FABRIC", fabric, 1);
	pair_check(dat_sim_fabric_create(fabric, NULL), "dat_sim_fabric_create");
	pair_check(dat_sim_fabric_hold(fabric, DAT_TRUE), "dat_sim_fabric_hold");
	server = fork();
	if (server == 0)
		run_server();
	wait_until_waiting(fabric, 0);
	client = fork();
	if (client == 0)
		run_client(result);
	wait_until_waiting(fabric, 1);
	pair_check(dat_sim_fabric_hold(fabric, DAT_FALSE), "dat_sim_fabric_hold");
	wait_process(client);
	wait_process(server);
	pair_check(dat_sim_fabric_destroy(fabric), "dat_sim_fabric_destroy");
	return result->seconds;
}

int main(int argc, char **argv)
{
	struct result *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double turns = 1e9, bare = 1e9, seconds;

	if (argc > 1)
		rounds = atol(argv[1]);
	if (shared == MAP_FAILED || rounds < 1) {
		fputs("usage: bench_turns [ROUNDS]\n", stderr);
		return 2;
	}
	setenv("DATSIM_LOCKSTEP", "600000", 0);
	for (int i = 0; i < TIMES; i++) {
		seconds = measure_futex(shared);
		bare = seconds < bare ? seconds : bare;
		seconds = measure_turns(shared);
		turns = seconds < turns ? seconds : turns;
	}
	printf("lockstep    %8.0f switches/s\n", 2 * (double)rounds / turns);
	printf("bare futex  %8.0f switches/s\n", 2 * (double)rounds / bare);
	printf("ratio       %8.3f\n", bare / turns);
	return 0;
}
