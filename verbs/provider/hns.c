/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hns.c - libhns.so.1, for what adapters of HiSilicon have beside verbs. No emulated
 * device is one of them, and each call says so.
 */
#include "verbs/refused.h"

/* HNS_1.0 */
NULL_PTR(hnsdv_create_qp)
NO(hnsdv_is_supported)
INT(hnsdv_query_device)
