/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mana.c - libmana.so.1, for what adapters of Microsoft MANA have beside verbs. No emulated
 * device is one of them, and each call says so.
 */
#include "verbs/refused.h"

/* MANA_1.0 */
INT(manadv_init_obj)
INT(manadv_set_context_attr)
