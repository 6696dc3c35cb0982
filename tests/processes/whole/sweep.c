/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweep server | sweep client HOST - a sweep of message sizes over verbs, as NetPIPE does it: the
 * two meet by TCP, exchange the numbers of their queue pairs there, and bounce messages of 1 byte
 * to 64 KiB, of 3 bytes less and more, too. The server echoes what came. The client checks each
 * byte, and prints the time of half a round trip. The server hands its port over in the file
 * "port".
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LARGEST   65536
#define NEAR      3
#define ROOM      (LARGEST + NEAR)
#define ROUNDS    4
#define FIRST_PSN 7
#define RETRIES   7
#define TIMEOUT   14 /* 67 ms */
#define RNR_TIMER 12 /* 0.64 ms */

static unsigned char memory[2][ROOM]; /* to send from, to receive into */

struct end {
	struct ibv_context *device;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int sending;
};

/* What one end tells the other by TCP. */
struct card {
	uint32_t qpn;
	union ibv_gid gid;
};

static void need(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "sweep: %s\n", what);
	exit(1);
}

/* ---- TCP ---- */

static int accept_client(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd;
	socklen_t size = sizeof(addr);
	FILE *file;

	need(bind(listener, (struct sockaddr *)&addr, size) == 0 && listen(listener, 1) == 0 &&
		     getsockname(listener, (struct sockaddr *)&addr, &size) == 0,
	     "cannot listen");
	file = fopen("port.new", "w");
	need(file && fprintf(file, "%d\n", ntohs(addr.sin_port)) > 0 && fclose(file) == 0 &&
		     rename("port.new", "port") == 0,
	     "the port cannot be handed over");
	fd = accept(listener, NULL, NULL);
	need(fd >= 0, "no client came");
	close(listener);
	return fd;
}

static int connect_to(const char *host)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0), port;
	FILE *file;

	while (!(file = fopen("port", "r")))
		usleep(1000);
	need(fscanf(file, "%d", &port) == 1, "no port was handed over");
	fclose(file);
	addr.sin_port = htons((uint16_t)port);
	need(inet_pton(AF_INET, host, &addr.sin_addr) == 1, "an address is expected");
	need(connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0, "the server is not there");
	return fd;
}

static void exchange(int fd, const void *own, void *other, size_t size)
{
	need(send(fd, own, size, 0) == (ssize_t)size &&
		     recv(fd, other, size, MSG_WAITALL) == (ssize_t)size,
	     "the other end has gone");
}

/* ---- verbs ---- */

static void open_end(struct end *end)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 }
	};

	need(devices && devices[0], "there is no device");
	end->device = ibv_open_device(devices[0]);
	ibv_free_device_list(devices);
	need(end->device, "the device cannot be opened");
	end->pd = ibv_alloc_pd(end->device);
	need(end->pd, "no protection domain");
	end->mr = ibv_reg_mr(end->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	end->cq = ibv_create_cq(end->device, 4, NULL, NULL, 0);
	need(end->mr && end->cq, "no memory region, or no CQ");
	init.send_cq = init.recv_cq = end->cq;
	end->qp = ibv_create_qp(end->pd, &init);
	need(end->qp, "no queue pair");
}

static void close_end(struct end *end)
{
	need(!ibv_destroy_qp(end->qp) && !ibv_destroy_cq(end->cq) && !ibv_dereg_mr(end->mr) &&
		     !ibv_dealloc_pd(end->pd) && !ibv_close_device(end->device),
	     "something is still in use");
}

static void connect_end(struct end *end, const struct card *peer)
{
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp_attr receive = { .qp_state = IBV_QPS_RTR,
				       .path_mtu = IBV_MTU_1024,
				       .dest_qp_num = peer->qpn,
				       .rq_psn = FIRST_PSN,
				       .min_rnr_timer = RNR_TIMER,
				       .ah_attr = {
					       .is_global = 1,
					       .port_num = 1,
					       .grh = { .dgid = peer->gid, .hop_limit = 1 } } };
	struct ibv_qp_attr send = { .qp_state = IBV_QPS_RTS,
				    .sq_psn = FIRST_PSN,
				    .timeout = TIMEOUT,
				    .retry_cnt = RETRIES,
				    .rnr_retry = RETRIES };

	need(!ibv_modify_qp(end->qp, &init,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "INIT");
	need(!ibv_modify_qp(end->qp, &receive,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	need(!ibv_modify_qp(end->qp, &send,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

static void post_receive(struct end *end)
{
	struct ibv_sge sge = { (uintptr_t)memory[1], ROOM, end->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	need(!ibv_post_recv(end->qp, &wr, &bad), "ibv_post_recv");
}

static void post_send(struct end *end, uint32_t bytes)
{
	struct ibv_sge sge = { (uintptr_t)memory[0], bytes, end->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	need(!ibv_post_send(end->qp, &wr, &bad), "ibv_post_send");
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
	need(n == 1, "ibv_poll_cq");
	need(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
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
		need(await_message(end) == bytes && !memcmp(memory[0], memory[1], bytes),
		     "another message came back");
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%u bytes %ld ns\n", bytes,
	       ((to.tv_sec - from.tv_sec) * 1000000000l + to.tv_nsec - from.tv_nsec) / ROUNDS / 2);
}

static void echo(struct end *end, uint32_t bytes)
{
	for (int i = 0; i < ROUNDS; i++) {
		need(await_message(end) == bytes, "a message of another size came");
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
	struct card own = { 0 }, peer;
	struct end end;
	int fd;

	need(serves || (argc == 3 && !strcmp(argv[1], "client")), "server, or client HOST");
	open_end(&end);
	fd = serves ? accept_client() : connect_to(argv[2]);
	own.qpn = end.qp->qp_num;
	need(!ibv_query_gid(end.device, 1, 0, &own.gid), "ibv_query_gid");
	exchange(fd, &own, &peer, sizeof(own));
	connect_end(&end, &peer);
	if (serves)
		post_receive(&end);
	exchange(fd, "+", &peer, 1); /* both are ready */
	sweep(&end, serves ? echo : bounce);
	while (end.sending)
		poll_one(&end);
	exchange(fd, "-", &peer, 1);
	close(fd);
	close_end(&end);
	return 0;
}
