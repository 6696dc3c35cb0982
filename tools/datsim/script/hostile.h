/* SPDX-License-Identifier: BSD-3-Clause */
/* hostile.h - the names of the ways in which adapters are hostile (DAT_SIM_HOSTILE). */
#ifndef DATSIM_HOSTILE_H
#define DATSIM_HOSTILE_H

#include "tools/datsim/util.h"

#define HOSTILE_VARIABLE "DATSIM_HOSTILE"

/* Keys of a fabric line, in front of the NULL. */
extern const char *const hostile_keys[];
/* Set the ways of that key. False: it has no such value. */
bool hostile_set(const char *key, const char *value, uint32_t *set);
/* The values that a key has: "posted or off". */
const char *hostile_values(const char *key);
/* "watch=posted,poison=on"; empty: "". */
void hostile_text(uint32_t set, struct text *text);
/* Such a list, or "all": an OPTION_OWN, which sets a const char *. */
bool hostile_take(void *member, const char *list);

#endif
