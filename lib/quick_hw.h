/* SPDX-License-Identifier: BSD-3-Clause */
/* quick_hw.h - the calls of every message on a backend in a module, whose lock is biased (bias.h). */
#ifndef LIB_QUICK_HW_H
#define LIB_QUICK_HW_H

#include "backend.h"

/* With the lock held, or before the first use: they are the quick ones, or those that take the lock always. */
void quick_hw_choose(struct backend *b, bool careful);

#endif /* LIB_QUICK_HW_H */
