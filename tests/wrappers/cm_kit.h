/* SPDX-License-Identifier: BSD-3-Clause */
/* cm_kit.h - the ids and rsockets that calls of test_fuzz_rdmacm get. */
#ifndef TESTS_WRAPPERS_CM_KIT_H
#define TESTS_WRAPPERS_CM_KIT_H

#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>

#include "fuzz.h"

/* Ids by what has become of them. */
enum fuzz_id {
	ID_IDLE,
	ID_BOUND,
	ID_ADDRESS, /* resolved */
	ID_ROUTE,   /* the same */
	ID_QP,      /* with a queue pair, too */
	ID_LISTENING,
	ID_ASKING,
	ID_ASKED,
	ID_ACTIVE, /* connected, as the next one */
	ID_PASSIVE,
	ID_OVER,
	ID_DATAGRAM, /* of RDMA_PS_UDP, with a queue pair */
	ID_SYNC,     /* without an event channel of the program's */
	ID_SYNC_LISTENING,
	IDS
};

/* Numbers of rsockets, and others. */
enum fuzz_fd {
	FD_NONE,  /* -1 */
	FD_LARGE, /* INT_MAX */
	FD_FILE,  /* of the kernel */
	FD_CLOSED,
	FD_OPEN,
	FD_BOUND,
	FD_LISTENING,
	FD_ACTIVE, /* connected, as the next one */
	FD_PASSIVE,
	FD_LEFT, /* the peer has closed it */
	FDS
};

/* Make the id, or the rsocket, in the kit. Each is made when an argument is. */
struct rdma_cm_id *fuzz_kit_id(enum fuzz_id which);
int fuzz_kit_fd(enum fuzz_fd which);
struct rdma_event_channel *fuzz_kit_channel(void);
/* A call has destroyed it. */
void fuzz_kit_id_gone(const struct rdma_cm_id *id);
void fuzz_kit_fd_gone(int fd);
void fuzz_kit_channel_gone(const struct rdma_event_channel *channel);

/* The devices are RNICs, which refuse some proper values. */
bool fuzz_kit_iwarp(void);
void fuzz_kit_begin(void);
void fuzz_kit_end(void);
void fuzz_kit_make(void);
void fuzz_kit_free(void);
uint64_t fuzz_kit_sum(void);

/* ---- cm_value.c ---- */

/* fuzz_id is without those whose calls wait for their outcome. */
extern const struct fuzz_kind fuzz_id, fuzz_any_id, fuzz_lone_id, fuzz_with_qp, fuzz_with_srq,
	fuzz_channel, fuzz_channel_or_null, fuzz_event, fuzz_addr, fuzz_param, fuzz_init,
	fuzz_init_or_null, fuzz_pd, fuzz_srq_init, fuzz_attr, fuzz_join, fuzz_ece, fuzz_info,
	fuzz_info_or_null, fuzz_node, fuzz_devices, fuzz_infos;

/* ---- rs_value.c ---- */

extern const struct fuzz_kind fuzz_fd, fuzz_length, fuzz_iov, fuzz_count_of, fuzz_msg, fuzz_pollfds,
	fuzz_pollcount, fuzz_set, fuzz_time;

#endif /* TESTS_WRAPPERS_CM_KIT_H */
