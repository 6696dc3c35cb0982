/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * efa.c - libefa.so.1, for what adapters of Amazon EFA have beside verbs. No emulated
 * device is one of them, and each call says so.
 */
#include "verbs/refused.h"

/* EFA_1.0 */
NULL_PTR(efadv_create_driver_qp)

/* EFA_1.1 */
NULL_PTR(efadv_create_qp_ex)
INT(efadv_query_ah)
INT(efadv_query_device)

/* EFA_1.2 */
NULL_PTR(efadv_cq_from_ibv_cq_ex)
NULL_PTR(efadv_create_cq)

/* EFA_1.3 */
INT(efadv_query_mr)
