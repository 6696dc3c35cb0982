/* SPDX-License-Identifier: BSD-3-Clause */
/* quick_hw.h - the calls of every message on a backend in a module, whose lock is biased (bias.h). */
#ifndef LIB_QUICK_HW_H
#define LIB_QUICK_HW_H

#include "backend.h"

struct ep;
struct nic_cq;
struct obj;

/* With the lock held, or before the first use: they are the quick ones, or those that take the lock always. */
void quick_hw_choose(struct backend *b, bool careful);
/*
 * From now on calls on this object may be the quick ones: it is an EVD with a CQ, an SRQ, or an EP that is connected or
 * was. Only the program ends such an object, so it is there for as long as the owner of the lock is inside, if
 * it was when the call began.
 */
void quick_hw_calls(struct obj *obj);
/* One that refuses whatever is asked of it: see nic_quick.h. */
extern struct nic_cq *const quick_hw_no_cq;
/* The queues of an EP are new, or it has other EVDs. */
void quick_hw_label(const struct ep *ep);
/* Of what the two have to agree on (nic_quick.h); 0: built without them. */
extern const size_t quick_hw_size;

#endif /* LIB_QUICK_HW_H */
