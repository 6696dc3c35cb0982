/* SPDX-License-Identifier: BSD-3-Clause */
/* backend_hw.h - the backend "hw": its module (module.h), and the lock that it shares with a thread of its own (bias.h). */
#ifndef LIB_BACKEND_HW_H
#define LIB_BACKEND_HW_H

#include "backend.h"

/* Its kind is NULL until it was started. */
extern struct backend backend_hw __attribute__((visibility("hidden")));

/* Without any lock: load the module and let it begin; false: it cannot, said why. */
bool backend_hw_start(void);
/* In a forked child. */
void backend_hw_forget(void);

#endif /* LIB_BACKEND_HW_H */
