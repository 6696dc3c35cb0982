/* SPDX-License-Identifier: BSD-3-Clause */
/* quick_hw.h - the calls of every message on a backend in a module, whose lock is biased (bias.h). */
#ifndef LIB_QUICK_HW_H
#define LIB_QUICK_HW_H

#include "backend.h"

struct ep;

/* With the lock held, or before the first use: they are the quick ones, or those that take the lock always. */
void quick_hw_choose(struct backend *b, bool careful);
/* The queues of an EP are new, or it has other EVDs. */
void quick_hw_label(const struct ep *ep);
/* Of what the two have to agree on (nic_quick.h); 0: built without them. */
extern const size_t quick_hw_size;

#endif /* LIB_QUICK_HW_H */
