/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns HOST ROUNDS THREADS [WHAT] - clients of examples/pair/server, one a thread, the first in
 * main. The first client makes more rounds than the others. Half way WHAT makes it die, sleep, or
 * compute until another process ("tell") has ended. "lock": before its first call each of the other
 * threads computes for a while with a lock that all of them take. "outsider" is a program of its
 * own: it waits for an event that a thread outside uDAPL causes. So is "timeout", which waits for
 * nothing, by the clock that it has read.
 */
#include <netinet/in.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "examples/pair/pair.h"

#define THREADS_MAX 16
#define TOLD        "told" /* a file: "tell" has come to its end */

struct client {
	struct pair_node *node;
	int number;
	DAT_EVD_HANDLE dto, connect;
	DAT_EP_HANDLE ep;
	pthread_t thread;
};

static struct sockaddr_in host;
static DAT_UINT64 rounds;
static const char *mischief = "";

static DAT_EVENT next(DAT_EVD_HANDLE evd)
{
	DAT_COUNT more;
	DAT_EVENT event;

	pair_check(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), "dat_evd_wait");
	return event;
}

static void open_client(struct client *client)
{
	struct pair_target mine = pair_target(client->node, client->number * 2 + 1);
	DAT_IA_HANDLE ia = client->node->ia;

	pair_check(dat_evd_create(ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
				  &client->dto),
		   "dat_evd_create");
	pair_check(dat_evd_create(ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
				  &client->connect),
		   "dat_evd_create");
	pair_check(dat_ep_create(ia, client->node->pz, client->dto, client->dto, client->connect,
				 NULL, &client->ep),
		   "dat_ep_create");
	pair_check(dat_ep_connect(client->ep, (DAT_IA_ADDRESS_PTR)&host, PAIR_QUALIFIER,
				  DAT_TIMEOUT_INFINITE, sizeof(mine), &mine, DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG),
		   "dat_ep_connect");
	if (next(client->connect).event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		pair_fail("no connection");
}

static void ask(struct client *client, DAT_UINT64 round)
{
	struct pair_message *question = &client->node->messages[client->number * 2], wanted;
	const struct pair_message *answer = question + 1;
	DAT_LMR_TRIPLET segment = pair_segment(client->node, client->number * 2);
	DAT_DTO_COOKIE cookie = { .as_64 = round };
	DAT_EVENT event;

	pair_ask(question, round, (DAT_UINT64)client->number);
	pair_answer(question, &wanted);
	pair_check(dat_ep_post_send(client->ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_send");
	event = next(client->dto);
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		pair_fail("a transfer failed");
	while (!pair_is_whole(answer, round))
		if (dat_evd_dequeue(client->connect, &event) == DAT_SUCCESS)
			pair_fail("the connection ended");
	if (memcmp(answer->word, wanted.word, sizeof(wanted.word)) != 0)
		pair_fail("the answer is wrong");
}

/*
 * Outside uDAPL, until another process has ended. The others must get their turns meanwhile, or
 * this hangs.
 */
static void misbehave(void)
{
	/* Longer than the bound of lockstep, so that it is asleep when it loses its turn. */
	const struct timespec nap = { .tv_nsec = 200000000 };

	if (!strcmp(mischief, "sleep"))
		while (access(TOLD, F_OK))
			nanosleep(&nap, NULL);
	else if (!strcmp(mischief, "compute"))
		while (access(TOLD, F_OK))
			;
	else if (!strcmp(mischief, "die"))
		kill(getpid(), SIGKILL);
	else if (!strcmp(mischief, "exit"))
		_exit(0);
}

/* With the lock, so that the other new threads sleep all the while. */
static void compute_alone(void)
{
	static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
	struct timespec used = { 0 }, begin;

	pthread_mutex_lock(&alone);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	while ((used.tv_sec - begin.tv_sec) * 1000000000L + used.tv_nsec - begin.tv_nsec < 20000000)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	pthread_mutex_unlock(&alone);
}

static void *run(void *arg)
{
	struct client *client = arg;

	DAT_UINT64 most = client->number == 0 ? rounds * 2 : rounds;

	if (client->number > 0 && !strcmp(mischief, "lock"))
		compute_alone();
	open_client(client);
	for (DAT_UINT64 round = 1; round <= most; round++) {
		if (client->number == 0 && round == most / 2)
			misbehave();
		ask(client, round);
	}
	pair_check(dat_ep_disconnect(client->ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	if (next(client->connect).event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		pair_fail("the connection did not end as asked for");
	pair_check(dat_ep_free(client->ep), "dat_ep_free");
	pair_check(dat_evd_free(client->dto), "dat_evd_free");
	pair_check(dat_evd_free(client->connect), "dat_evd_free");
	return NULL;
}

/*
 * A thread that never called uDAPL ends a wait of which uDAPL knows no end.
 */
static void *post_late(void *evd)
{
	const struct timespec while_looked_at = { .tv_nsec = 300000000 };
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	nanosleep(&while_looked_at, NULL);
	pair_check(dat_evd_post_se(evd, &event), "dat_evd_post_se");
	return NULL;
}

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Each reading of the clock moves it on, so that it is ahead of virtual time. */
static uint64_t read_often(void)
{
	uint64_t ns = 0;

	for (int i = 0; i < 50; i++)
		ns = clock_ns();
	return ns;
}

static int wait_for_nothing(void)
{
	const DAT_TIMEOUT us = 1000;
	unsigned long long evd_took, cno_took;
	struct pair_node node;
	DAT_EVD_HANDLE evd, none;
	DAT_CNO_HANDLE cno;
	DAT_EVENT event;
	DAT_COUNT more;
	uint64_t before;

	pair_open(&node, "emu0", 1);
	pair_check(dat_cno_create(node.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), "dat_cno_create");
	pair_check(dat_evd_create(node.ia, PAIR_QUEUE_LENGTH, cno, DAT_EVD_SOFTWARE_FLAG, &evd),
		   "dat_evd_create");
	before = read_often();
	if (DAT_GET_TYPE(dat_evd_wait(evd, us, 1, &event, &more)) != DAT_TIMEOUT_EXPIRED)
		pair_fail("dat_evd_wait does not expire");
	evd_took = clock_ns() - before;
	before = read_often();
	if (dat_cno_wait(cno, us, &none) != DAT_QUEUE_EMPTY)
		pair_fail("dat_cno_wait does not expire");
	cno_took = clock_ns() - before;
	pair_check(dat_evd_free(evd), "dat_evd_free");
	pair_check(dat_cno_free(cno), "dat_cno_free");
	pair_close(&node);
	printf("the waits for 1000000 ns took %llu and %llu ns\n", evd_took, cno_took);
	return evd_took < us * 1000 || cno_took < us * 1000;
}

static int wait_for_outsider(void)
{
	struct pair_node node;
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	DAT_COUNT more;

	pair_open(&node, "emu0", 1);
	pair_check(dat_evd_create(node.ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL,
				  DAT_EVD_SOFTWARE_FLAG, &evd),
		   "dat_evd_create");
	if (pthread_create(&thread, NULL, post_late, evd))
		pair_fail("no thread");
	pair_check(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), "dat_evd_wait");
	pthread_join(thread, NULL);
	pair_check(dat_evd_free(evd), "dat_evd_free");
	pair_close(&node);
	puts("it came");
	return 0;
}

int main(int argc, char **argv)
{
	static struct client clients[THREADS_MAX];
	struct pair_node node;
	int threads = argc > 3 ? atoi(argv[3]) : 0;

	host.sin_family = AF_INET;
	if (argc < 4 || argc > 5 || threads < 1 || threads > THREADS_MAX ||
	    inet_pton(AF_INET, argv[1], &host.sin_addr) != 1) {
		fputs("usage: turns ADDRESS ROUNDS THREADS "
		      "[sleep|compute|die|exit|tell|lock|outsider|timeout]\n",
		      stderr);
		return 2;
	}
	rounds = strtoul(argv[2], NULL, 10);
	mischief = argc > 4 ? argv[4] : "";
	if (!strcmp(mischief, "outsider"))
		return wait_for_outsider();
	if (!strcmp(mischief, "timeout"))
		return wait_for_nothing();
	pair_open(&node, "emu0", THREADS_MAX * 2);
	for (int i = threads - 1; i >= 0; i--) {
		clients[i] = (struct client){ .node = &node, .number = i };
		if (i == 0)
			run(&clients[i]);
		else if (pthread_create(&clients[i].thread, NULL, run, &clients[i]))
			pair_fail("no thread");
	}
	for (int i = 1; i < threads; i++)
		pthread_join(clients[i].thread, NULL);
	pair_close(&node);
	if (!strcmp(mischief, "tell") && mkdir(TOLD, 0700))
		pair_fail("cannot tell");
	printf("%llu answers\n", (unsigned long long)(rounds * (DAT_UINT64)(threads + 1)));
	return 0;
}
