/* SPDX-License-Identifier: BSD-3-Clause */
/* guard.h - CQs on which more may complete than lib has room for (guard.c). With the lock held. */
#ifndef PASSTHROUGH_GUARD_H
#define PASSTHROUGH_GUARD_H

#include "hw.h"

void hw_guard_init(struct nic_world *w);
/* The CQ has become overcommitted; it no longer is. */
void hw_guard_start(struct hw_cq *cq);
void hw_guard_stop(struct hw_cq *cq);
/* A completion has come, so no event is needed for the next ones. */
void hw_guard_busy(struct hw_cq *cq);

#endif /* PASSTHROUGH_GUARD_H */
