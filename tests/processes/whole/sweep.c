/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweep server | sweep client HOST - a sweep of message sizes over verbs, as NetPIPE does it: the
 * two meet by TCP, exchange the numbers of their queue pairs there, and bounce messages of 1 byte
 * to 64 KiB, of 3 bytes less and more, too. The server echoes what came. The client checks each
 * byte, and prints the time of half a round trip.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ends.h"

#define LARGEST 65536
#define NEAR    3
#define ROOM    (LARGEST + NEAR)
#define ROUNDS  4

static unsigned char memory[2][ROOM]; /* to send from, to receive into */

struct end {
	struct ibv_context *device;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int sending;
};

/* ---- verbs ---- */

static void open_end(struct end *end)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 }
	};

	end->device = ends_open_device();
	end->pd = ibv_alloc_pd(end->device);
	ends_need(end->pd, "no protection domain");
	end->mr = ibv_reg_mr(end->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	end->cq = ibv_create_cq(end->device, 4, NULL, NULL, 0);
	ends_need(end->mr && end->cq, "no memory region, or no CQ");
	init.send_cq = init.recv_cq = end->cq;
	end->qp = ibv_create_qp(end->pd, &init);
	ends_need(end->qp, "no queue pair");
}

static void close_end(struct end *end)
{
	ends_need(!ibv_destroy_qp(end->qp) && !ibv_destroy_cq(end->cq) && !ibv_dereg_mr(end->mr) &&
			  !ibv_dealloc_pd(end->pd) && !ibv_close_device(end->device),
		  "something is still in use");
}

static void post_receive(struct end *end)
{
	struct ibv_sge sge = { (uintptr_t)memory[1], ROOM, end->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	ends_need(!ibv_post_recv(end->qp, &wr, &bad), "ibv_post_recv");
}

static void post_send(struct end *end, uint32_t bytes)
{
	struct ibv_sge sge = { (uintptr_t)memory[0], bytes, end->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	ends_need(!ibv_post_send(end->qp, &wr, &bad), "ibv_post_send");
	end->sending++;
}

/* Bytes of the message; 0: a Send has completed. */
static uint32_t poll_one(struct end *end)
{
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(end->cq, 1, &wc);
	while (n == 0);
	ends_need(n == 1, "ibv_poll_cq");
	ends_need(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
	end->sending -= wc.opcode == IBV_WC_SEND;
	return wc.opcode == IBV_WC_RECV ? wc.byte_len : 0;
}

/* Wait for a message, and for the Sends before it. */
static uint32_t await_message(struct end *end)
{
	uint32_t bytes = 0, got;

	while (!bytes || end->sending) {
		got = poll_one(end);
		bytes = got ? got : bytes;
	}
	return bytes;
}

static int accept_one(void)
{
	int listener = ends_listen(1), fd = ends_accept(listener);

	close(listener);
	return fd;
}

/* ---- the sweep ---- */

static void bounce(struct end *end, uint32_t bytes)
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < ROUNDS; i++) {
		for (uint32_t j = 0; j < bytes; j++)
			memory[0][j] = (unsigned char)(bytes + j + (uint32_t)i);
		post_receive(end);
		post_send(end, bytes);
		ends_need(await_message(end) == bytes && !memcmp(memory[0], memory[1], bytes),
			  "another message came back");
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%u bytes %ld ns\n", bytes,
	       ((to.tv_sec - from.tv_sec) * 1000000000l + to.tv_nsec - from.tv_nsec) / ROUNDS / 2);
}

static void echo(struct end *end, uint32_t bytes)
{
	for (int i = 0; i < ROUNDS; i++) {
		ends_need(await_message(end) == bytes, "a message of another size came");
		memcpy(memory[0], memory[1], bytes);
		post_receive(end);
		post_send(end, bytes);
	}
}

static void sweep(struct end *end, void (*one)(struct end *end, uint32_t bytes))
{
	for (uint32_t bytes = 1; bytes <= LARGEST; bytes *= 2) {
		if (bytes > 2 * NEAR)
			one(end, bytes - NEAR);
		one(end, bytes);
		if (bytes > 2 * NEAR)
			one(end, bytes + NEAR);
	}
}

int main(int argc, char **argv)
{
	bool serves = argc == 2 && !strcmp(argv[1], "server");
	struct ends_card own = { 0 }, peer;
	struct end end = { 0 };
	int fd;

	ends_need(serves || (argc == 3 && !strcmp(argv[1], "client")), "server, or client HOST");
	open_end(&end);
	fd = serves ? accept_one() : ends_connect(argv[2]);
	own.qpn = end.qp->qp_num;
	ends_need(!ibv_query_gid(end.device, 1, 0, &own.gid), "ibv_query_gid");
	ends_exchange(fd, &own, &peer, sizeof(own));
	ends_join(end.qp, &peer);
	if (serves)
		post_receive(&end);
	ends_exchange(fd, "+", &peer, 1); /* both are ready */
	sweep(&end, serves ? echo : bounce);
	while (end.sending)
		poll_one(&end);
	ends_exchange(fd, "-", &peer, 1);
	close(fd);
	close_end(&end);
	return 0;
}
