/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.h - scripts on a verbs device (DAT_PROVIDER=hw) instead of a simulated fabric. Time is
 * real there: an expected event may take up to DEVICE_PATIENCE_NS to arrive, and `no event` is
 * established by waiting DEVICE_SETTLE_NS; --slow multiplies both. device.c is the only file of the
 * tool that reads a wall clock for scripts.
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

/*
 * The adapters that scripts name emu0 and emu1 are these devices ("rxe0", "rxe0,rxe1"); NULL: the
 * first one listed. False: stderr says why not.
 */
bool device_choose(const char *command, const char *devices);
/*
 * Is the emulator chosen, which `what` ("scripts are swept") needs for its faults and its virtual
 * time? False: stderr says that it is not.
 */
bool emu_is_chosen(const char *command, const char *what);
/* Names of the chosen devices; NULL: on a fabric, or no device is known. */
const char *device_names(void);

#endif
