/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mlx4.c - libmlx4.so.1, for what adapters of Mellanox ConnectX-3 have beside verbs. No emulated
 * device is one of them, and each call says so.
 */
#include "verbs/refused.h"

/* MLX4_1.0 */
NULL_PTR(mlx4dv_create_qp)
INT(mlx4dv_init_obj)
INT(mlx4dv_query_device)
INT(mlx4dv_set_context_attr)
