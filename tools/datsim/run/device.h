/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.h - scripts on a verbs device (DAT_PROVIDER=hw) in place of a simulated fabric. Time is the
 * machine's: what a script expects may take until DEVICE_PATIENCE_NS to come, and that nothing comes is
 * seen by waiting for DEVICE_SETTLE_NS; both so many times as long as --slow says. The only file of the tool
 * that reads a wall clock.
 */
#ifndef DATSIM_DEVICE_H
#define DATSIM_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#define DEVICE_PATIENCE_NS UINT64_C(10000000000)
#define DEVICE_SETTLE_NS   UINT64_C(20000000)
#define DEVICE_STEP_NS     UINT64_C(200000)
#define DEVICE_SLOW_MAX    1000

bool on_device(void);
uint64_t device_now(void);
void device_sleep(uint64_t ns);

/* What --slow takes: 1 to DEVICE_SLOW_MAX. */
bool device_slow(const char *s, unsigned int *slow);
/*
 * The adapters that scripts name emu0 and emu1 are these devices ("rxe0", "rxe0,rxe1"); NULL: the first
 * that there is. False: said why.
 */
bool device_choose(const char *command, const char *devices);
/* Their names; NULL: on a fabric, or none is known. */
const char *device_names(void);

#endif
