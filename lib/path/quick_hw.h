/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quick_hw.h - the calls of every message on a backend in a module, whose lock is biased (bias.h).
 */
#ifndef LIB_PATH_QUICK_HW_H
#define LIB_PATH_QUICK_HW_H

#include "host/backend.h"
#include "host/nic_quick.h"

struct ep;
struct evd;
struct obj;

/*
 * With the lock held, or before the first use: choose the quick calls, or those that always take
 * the lock.
 */
void quick_hw_choose(struct backend *b, bool careful);
/*
 * From now on calls on this object may be the quick ones: it is an EVD with a CQ, an SRQ, or an EP
 * that is connected or was. Only the program ends such an object. So it is there for as long as the
 * owner of the lock is inside, if it was there when the call began.
 */
void quick_hw_calls(struct obj *obj);
/* After a change of what decides whether a dequeue may poll the CQ without looking at the EVD. */
void quick_hw_choose_evd(struct evd *evd, bool quick);
/* The queues of an EP are new, or it has other EVDs. */
void quick_hw_label(struct ep *ep);
/* What the NIC calls when a call is not the usual one. */
extern const struct nic_quick_front quick_hw_front;
/* Of struct nic_quick_qp: the module was built with the same one, or is refused. */
extern const size_t quick_hw_size;

#endif /* LIB_PATH_QUICK_HW_H */
