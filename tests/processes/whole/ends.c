/* SPDX-License-Identifier: BSD-3-Clause */
/* ends.c - how programs over verbs meet by TCP (ends.h). */
#define _GNU_SOURCE
#include "ends.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_PSN 7
#define RETRIES   7
#define TIMEOUT   14 /* 67 ms */
#define RNR_TIMER 12 /* 0.64 ms */

void ends_need(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
	exit(1);
}

/* ---- TCP ---- */

int ends_listen(int clients)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(addr);
	FILE *file;

	ends_need(bind(listener, (struct sockaddr *)&addr, size) == 0 &&
			  listen(listener, clients) == 0 &&
			  getsockname(listener, (struct sockaddr *)&addr, &size) == 0,
		  "cannot listen");
	file = fopen("port.new", "w");
	ends_need(file && fprintf(file, "%d\n", ntohs(addr.sin_port)) > 0 && fclose(file) == 0 &&
			  rename("port.new", "port") == 0,
		  "the port cannot be handed over");
	return listener;
}

int ends_accept(int listener)
{
	int fd = accept(listener, NULL, NULL);

	ends_need(fd >= 0, "no client came");
	return fd;
}

int ends_connect(const char *host)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0), port;
	FILE *file;

	while (!(file = fopen("port", "r")))
		usleep(1000);
	ends_need(fscanf(file, "%d", &port) == 1, "no port was handed over");
	fclose(file);
	addr.sin_port = htons((uint16_t)port);
	ends_need(inet_pton(AF_INET, host, &addr.sin_addr) == 1, "an address is expected");
	ends_need(connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0,
		  "the server is not there");
	return fd;
}

void ends_exchange(int fd, const void *own, void *other, size_t size)
{
	ends_need(send(fd, own, size, 0) == (ssize_t)size &&
			  recv(fd, other, size, MSG_WAITALL) == (ssize_t)size,
		  "the other end has gone");
}

/* ---- verbs ---- */

struct ibv_context *ends_open_device(void)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *device;

	ends_need(devices && devices[0], "there is no device");
	device = ibv_open_device(devices[0]);
	ibv_free_device_list(devices);
	ends_need(device, "the device cannot be opened");
	return device;
}

void ends_join(struct ibv_qp *qp, const struct ends_card *peer)
{
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
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

	ends_need(!ibv_modify_qp(qp, &init,
				 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					 IBV_QP_ACCESS_FLAGS),
		  "INIT");
	ends_need(!ibv_modify_qp(qp, &receive,
				 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					 IBV_QP_MIN_RNR_TIMER),
		  "RTR");
	ends_need(!ibv_modify_qp(qp, &send,
				 IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					 IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					 IBV_QP_MAX_QP_RD_ATOMIC),
		  "RTS");
}
