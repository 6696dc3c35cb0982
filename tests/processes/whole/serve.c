/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * serve server THREADS | serve client HOST ROUNDS - a server over verbs with a thread for each
 * client, as servers of storage have them: each thread waits by an epoll of its own for completions
 * (the descriptor of a completion channel) and for its client's TCP socket, by which the two have
 * met. A client writes a line into the server's memory by RDMA, says so by a Send, and polls for
 * the Send that answers; after each fourth round it asks by TCP how many there were. When it closes
 * its socket, its thread ends. All print what they did, and clients the virtual time of a round.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ends.h"

#define THREADS_MAX 16
#define LINE        64
#define ASK_EVERY   4

struct end {
	int fd; /* to the other one */
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel; /* NULL: it polls */
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ends_card peer;
	char written[LINE]; /* by the other one */
	char out[LINE], in[LINE];
};

static struct ibv_context *device;
static struct ibv_pd *pd;

/* ---- both ends ---- */

static struct ibv_sge sge_of(struct end *end, char *line)
{
	return (struct ibv_sge){ (uintptr_t)line, LINE, end->mr->lkey };
}

static void post_receive(struct end *end)
{
	struct ibv_sge sge = sge_of(end, end->in);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	ends_need(!ibv_post_recv(end->qp, &wr, &bad), "ibv_post_recv");
}

static void post(struct end *end, enum ibv_wr_opcode opcode, unsigned int flags)
{
	struct ibv_sge sge = sge_of(end, end->out);
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = flags,
				  .wr.rdma = { end->peer.address, end->peer.rkey } };
	struct ibv_send_wr *bad;

	ends_need(!ibv_post_send(end->qp, &wr, &bad), "ibv_post_send");
}

static void open_end(struct end *end, bool waits)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct ends_card own = { .address = (uintptr_t)end->written };

	end->mr = ibv_reg_mr(pd, end->written, 3 * LINE,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	end->channel = waits ? ibv_create_comp_channel(device) : NULL;
	end->cq = ibv_create_cq(device, 8, NULL, end->channel, 0);
	ends_need(end->mr && end->cq && (end->channel || !waits), "no memory region, or no CQ");
	init.send_cq = init.recv_cq = end->cq;
	end->qp = ibv_create_qp(pd, &init);
	ends_need(end->qp, "no queue pair");
	ends_need(!ibv_query_gid(device, 1, 0, &own.gid), "ibv_query_gid");
	own.qpn = end->qp->qp_num;
	own.rkey = end->mr->rkey;
	ends_exchange(end->fd, &own, &end->peer, sizeof(own));
	ends_join(end->qp, &end->peer);
	post_receive(end);
	ends_need(!waits || !ibv_req_notify_cq(end->cq, 0), "ibv_req_notify_cq");
	ends_exchange(end->fd, "+", end->out, 1); /* both are ready */
}

static void close_end(struct end *end)
{
	ends_need(!ibv_destroy_qp(end->qp) && !ibv_destroy_cq(end->cq) &&
			  (!end->channel || !ibv_destroy_comp_channel(end->channel)) &&
			  !ibv_dereg_mr(end->mr),
		  "something is still in use");
	close(end->fd);
}

static bool take_completion(struct end *end, struct ibv_wc *wc)
{
	int n = ibv_poll_cq(end->cq, 1, wc);

	ends_need(n >= 0, "ibv_poll_cq");
	ends_need(n == 0 || wc->status == IBV_WC_SUCCESS, ibv_wc_status_str(wc->status));
	return n > 0;
}

/* ---- the server ---- */

struct server {
	struct end end;
	pthread_t thread;
	int number;
	uint32_t answers, wakes, asked;
};

/* What was written and what was sent are the same; the answer has the thread's letter. */
static void answer(struct server *s)
{
	struct end *end = &s->end;

	ends_need(!memcmp(end->in, end->written, LINE), "another line was written");
	memcpy(end->out, end->in, LINE);
	end->out[0] = (char)('a' + s->number);
	post_receive(end);
	post(end, IBV_WR_SEND, IBV_SEND_SIGNALED);
	s->answers++;
}

static void take_event(struct server *s)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	ends_need(!ibv_get_cq_event(s->end.channel, &cq, &context), "ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	ends_need(!ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
	while (take_completion(&s->end, &wc))
		if (wc.opcode == IBV_WC_RECV)
			answer(s);
	s->wakes++;
}

/* False: the client has gone. */
static bool take_question(struct server *s)
{
	char byte;

	if (recv(s->end.fd, &byte, 1, 0) != 1)
		return false;
	s->asked++;
	ends_need(send(s->end.fd, &s->answers, sizeof(s->answers), 0) == sizeof(s->answers),
		  "the client does not listen");
	return true;
}

static void *serve(void *arg)
{
	struct epoll_event ready = { .events = EPOLLIN };
	struct server *s = arg;
	int epoll = epoll_create1(0), fds[2];
	bool stays = true;

	open_end(&s->end, true);
	fds[0] = s->end.channel->fd;
	fds[1] = s->end.fd;
	for (int i = 0; i < 2; i++) {
		ready.data.fd = fds[i];
		ends_need(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &ready) == 0, "epoll_ctl");
	}
	while (stays) {
		ends_need(epoll_wait(epoll, &ready, 1, -1) == 1, "epoll_wait");
		if (ready.data.fd == fds[0])
			take_event(s);
		else
			stays = take_question(s);
	}
	close(epoll);
	close_end(&s->end);
	return NULL;
}

static void run_server(int threads)
{
	static struct server servers[THREADS_MAX];
	int listener;

	ends_need(threads >= 1 && threads <= THREADS_MAX, "1 to 16 threads");
	listener = ends_listen(threads);
	for (int i = 0; i < threads; i++) {
		servers[i].number = i;
		servers[i].end.fd = ends_accept(listener);
		ends_need(!pthread_create(&servers[i].thread, NULL, serve, &servers[i]),
			  "pthread_create");
	}
	close(listener);
	for (int i = 0; i < threads; i++) {
		pthread_join(servers[i].thread, NULL);
		printf("thread %d answered %u, was asked %u times, woke %u times\n", i,
		       servers[i].answers, servers[i].asked, servers[i].wakes);
	}
}

/* ---- a client ---- */

static void ask(struct end *end, uint32_t rounds)
{
	uint32_t answers = 0;

	ends_need(send(end->fd, "?", 1, 0) == 1 &&
			  recv(end->fd, &answers, sizeof(answers), MSG_WAITALL) == sizeof(answers),
		  "the server does not answer");
	ends_need(answers == rounds, "the server has counted wrongly");
}

/* The answer may come before our own Send has completed. */
static void play(struct end *end, int round)
{
	bool came = false, sent = false;
	struct ibv_wc wc;

	snprintf(end->out, LINE, ". round %d of %u", round, end->qp->qp_num);
	post(end, IBV_WR_RDMA_WRITE, 0);
	post(end, IBV_WR_SEND, IBV_SEND_SIGNALED);
	while (!came || !sent)
		if (take_completion(end, &wc)) {
			came |= wc.opcode == IBV_WC_RECV;
			sent |= wc.opcode == IBV_WC_SEND;
		}
	ends_need(!strcmp(end->in + 1, end->out + 1), "another line came back");
	post_receive(end);
}

static void run_client(const char *host, int rounds)
{
	static struct end end;
	struct timespec from, to;

	end.fd = ends_connect(host);
	open_end(&end, false);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 1; i <= rounds; i++) {
		play(&end, i);
		if (i % ASK_EVERY == 0)
			ask(&end, (uint32_t)i);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%d rounds, %ld ns each, with thread %c\n", rounds,
	       ((to.tv_sec - from.tv_sec) * 1000000000l + to.tv_nsec - from.tv_nsec) / rounds,
	       end.in[0]);
	close_end(&end);
}

int main(int argc, char **argv)
{
	bool serves = argc == 3 && !strcmp(argv[1], "server");
	bool calls = argc == 4 && !strcmp(argv[1], "client") && atoi(argv[3]) > 0;

	ends_need(serves || calls, "server THREADS | client HOST ROUNDS");
	device = ends_open_device();
	pd = ibv_alloc_pd(device);
	ends_need(pd, "no protection domain");
	if (serves)
		run_server(atoi(argv[2]));
	else
		run_client(argv[2], atoi(argv[3]));
	ends_need(!ibv_dealloc_pd(pd) && !ibv_close_device(device), "something is still in use");
	return 0;
}
