/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_quick.h - the quick ways of a backend whose lock is biased (bias.h), a part of the door: nic.h includes it.
 *
 * What lib wants of it with every message, without a struct in between and by one call. Such a backend's QPs, CQs
 * and SRQs begin with the structs below. It puts other functions there as it likes: those for the state it is in. No
 * decorator is asked: while there is one, lib calls none of these. Arguments are where those of the DAT calls are, as
 * far as they go.
 */
#ifndef LIB_NIC_QUICK_H
#define LIB_NIC_QUICK_H

#include <stdint.h>

struct nic_quick_qp {
	struct nic_qp qp;
	/* post_send of a Send without flags, of one segment that is not empty. */
	int (*send_one)(struct nic_qp *qp, uint32_t length, uint64_t addr, uint64_t wr_id,
			uint32_t lkey);
	/* post_recv of the same kind, where lib has seen that there is room. */
	int (*recv_one)(struct nic_qp *qp, uint32_t length, uint64_t addr, uint64_t wr_id,
			uint32_t lkey);
};

struct nic_quick_cq {
	struct nic_cq cq;
	/* cq_spin; what it points to is good until the next call. NULL: nothing there. */
	const struct nic_wc *(*next)(struct nic_cq *cq);
};

struct nic_quick_srq {
	struct nic_srq srq;
	/* srq_post of the same kind. */
	int (*recv_one)(struct nic_srq *srq, uint32_t length, uint64_t addr, uint64_t wr_id,
			uint32_t lkey);
};

static inline int nic_send_one(struct nic_qp *qp, uint32_t length, uint64_t addr, uint64_t wr_id,
			       uint32_t lkey)
{
	return nic_container_of(qp, struct nic_quick_qp, qp)
		->send_one(qp, length, addr, wr_id, lkey);
}

static inline int nic_recv_one(struct nic_qp *qp, uint32_t length, uint64_t addr, uint64_t wr_id,
			       uint32_t lkey)
{
	return nic_container_of(qp, struct nic_quick_qp, qp)
		->recv_one(qp, length, addr, wr_id, lkey);
}

static inline int nic_srq_recv_one(struct nic_srq *srq, uint32_t length, uint64_t addr,
				   uint64_t wr_id, uint32_t lkey)
{
	return nic_container_of(srq, struct nic_quick_srq, srq)
		->recv_one(srq, length, addr, wr_id, lkey);
}

static inline const struct nic_wc *nic_cq_next(struct nic_cq *cq)
{
	return nic_container_of(cq, struct nic_quick_cq, cq)->next(cq);
}

#endif /* LIB_NIC_QUICK_H */
