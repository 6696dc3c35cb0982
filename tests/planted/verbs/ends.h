/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code shared by the programs of verbs with a planted bug: two ends in one process, each with its
 * own device. This file has no bug. With -DFIXED a program is its correct version.
 */
#ifndef PLANTED_VERBS_ENDS_H
#define PLANTED_VERBS_ENDS_H

#include <infiniband/verbs.h>

#ifdef FIXED
#define BUG 0
#else
#define BUG 1
#endif

#define END_BYTES 4096
#define END_DEPTH 32

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel; /* of both CQs */
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_port_attr port;
	char memory[END_BYTES];
};

/* End the program with exit status 1, unless `good`. */
void need(int good, const char *what);

/*
 * Set before end_open: without channels. Then the process has one thread, and time is virtual.
 */
extern int ends_poll_only;

void end_open(struct end *end, int device);
void end_close(struct end *end);
struct ibv_qp *end_qp(struct end *end);
/* Connect two QPs by number. */
void connect_qps(struct end *a, struct ibv_qp *qa, struct end *b, struct ibv_qp *qb, int rnr_retry);

/* From the end's memory; each request is signaled. */
void post_recv(struct end *end, struct ibv_qp *qp, int offset, int length, uint64_t id);
void post_send(struct end *end, struct ibv_qp *qp, int offset, int length, uint64_t id);
void post_write(struct end *end, struct ibv_qp *qp, int length, const struct end *to);
void post_read(struct end *end, struct ibv_qp *qp, int length, const struct end *to);

/* Poll once; 0: there is no completion. */
int next_wc(struct ibv_cq *cq, struct ibv_wc *wc);
/* Poll until there is a completion; it must be a success. */
uint64_t wait_wc(struct ibv_cq *cq);
/* Wait for an event of the end's channel until there is a completion of a request. */
void sleep_wc(struct end *end, struct ibv_wc *wc);

#endif
