/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backend_hw.h - the backend instance "hw": its module (module.h), and its lock, which is biased
 * because the module has a thread of its own (bias.h).
 */
#ifndef HOST_BACKEND_HW_H
#define HOST_BACKEND_HW_H

#include "backend.h"

/* `kind` is NULL until backend_hw_start. */
extern struct backend backend_hw __attribute__((visibility("hidden")));

/*
 * Without any lock: load the module and start it. A negative errno: it cannot be used, and the
 * reason is on stderr.
 */
int backend_hw_start(const struct front_ops *ops);

#endif /* HOST_BACKEND_HW_H */
