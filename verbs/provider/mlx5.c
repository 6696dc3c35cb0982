/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mlx5.c - libmlx5.so.1, for what adapters of Mellanox ConnectX-4 have beside verbs. No emulated
 * device is one of them, and each call says so.
 */
#include "verbs/refused.h"

/* MLX5_1.0 */
OLD(INT, mlx5dv_init_obj, "MLX5_1.0")
INT(mlx5dv_query_device)

/* MLX5_1.1 */
NULL_PTR(mlx5dv_create_cq)

/* MLX5_1.2 */
NEW(INT, mlx5dv_init_obj, "MLX5_1.2")
INT(mlx5dv_set_context_attr)

/* MLX5_1.3 */
NULL_PTR(mlx5dv_create_qp)
NULL_PTR(mlx5dv_create_wq)

/* MLX5_1.4 */
INT(mlx5dv_get_clock_info)

/* MLX5_1.5 */
NULL_PTR(mlx5dv_create_flow_action_esp)

/* MLX5_1.6 */
NULL_PTR(mlx5dv_create_flow)
NULL_PTR(mlx5dv_create_flow_matcher)
INT(mlx5dv_destroy_flow_matcher)

/* MLX5_1.7 */
NULL_PTR(mlx5dv_create_flow_action_modify_header)
NULL_PTR(mlx5dv_create_flow_action_packet_reformat)
NULL_PTR(mlx5dv_devx_alloc_uar)
NOTHING(mlx5dv_devx_free_uar)
INT(mlx5dv_devx_general_cmd)
NULL_PTR(mlx5dv_devx_obj_create)
INT(mlx5dv_devx_obj_destroy)
INT(mlx5dv_devx_obj_modify)
INT(mlx5dv_devx_obj_query)
INT(mlx5dv_devx_query_eqn)
INT(mlx5dv_devx_umem_dereg)
NULL_PTR(mlx5dv_devx_umem_reg)
NULL_PTR(mlx5dv_open_device)

/* MLX5_1.8 */
INT(mlx5dv_devx_cq_modify)
INT(mlx5dv_devx_cq_query)
INT(mlx5dv_devx_ind_tbl_modify)
INT(mlx5dv_devx_ind_tbl_query)
INT(mlx5dv_devx_qp_modify)
INT(mlx5dv_devx_qp_query)
INT(mlx5dv_devx_srq_modify)
INT(mlx5dv_devx_srq_query)
INT(mlx5dv_devx_wq_modify)
INT(mlx5dv_devx_wq_query)
NO(mlx5dv_is_supported)

/* MLX5_1.9 */
NULL_PTR(mlx5dv_devx_create_cmd_comp)
NOTHING(mlx5dv_devx_destroy_cmd_comp)
INT(mlx5dv_devx_get_async_cmd_comp)
INT(mlx5dv_devx_obj_query_async)

/* MLX5_1.10 */
NULL_PTR(mlx5dv_alloc_dm)
NULL_PTR(mlx5dv_create_mkey)
INT(mlx5dv_destroy_mkey)
NULL_PTR(mlx5dv_dr_action_create_dest_ibv_qp)
NULL_PTR(mlx5dv_dr_action_create_dest_table)
NULL_PTR(mlx5dv_dr_action_create_dest_vport)
NULL_PTR(mlx5dv_dr_action_create_drop)
NULL_PTR(mlx5dv_dr_action_create_flow_counter)
NULL_PTR(mlx5dv_dr_action_create_modify_header)
NULL_PTR(mlx5dv_dr_action_create_packet_reformat)
NULL_PTR(mlx5dv_dr_action_create_tag)
INT(mlx5dv_dr_action_destroy)
NULL_PTR(mlx5dv_dr_domain_create)
INT(mlx5dv_dr_domain_destroy)
INT(mlx5dv_dr_domain_sync)
NULL_PTR(mlx5dv_dr_matcher_create)
INT(mlx5dv_dr_matcher_destroy)
NULL_PTR(mlx5dv_dr_rule_create)
INT(mlx5dv_dr_rule_destroy)
NULL_PTR(mlx5dv_dr_table_create)
INT(mlx5dv_dr_table_destroy)
NULL_PTR(mlx5dv_qp_ex_from_ibv_qp_ex)

/* MLX5_1.11 */
NULL_PTR(mlx5dv_devx_create_event_channel)
NOTHING(mlx5dv_devx_destroy_event_channel)
MINUS(mlx5dv_devx_get_event)
INT(mlx5dv_devx_subscribe_devx_event)
INT(mlx5dv_devx_subscribe_devx_event_fd)

/* MLX5_1.12 */
NULL_PTR(mlx5dv_alloc_var)
NULL_PTR(mlx5dv_dr_action_create_flow_meter)
INT(mlx5dv_dr_action_modify_flow_meter)
INT(mlx5dv_dump_dr_domain)
INT(mlx5dv_dump_dr_matcher)
INT(mlx5dv_dump_dr_rule)
INT(mlx5dv_dump_dr_table)
NOTHING(mlx5dv_free_var)

/* MLX5_1.13 */
NULL_PTR(mlx5dv_pp_alloc)
NOTHING(mlx5dv_pp_free)

/* MLX5_1.14 */
NULL_PTR(mlx5dv_dr_action_create_default_miss)
NOTHING(mlx5dv_dr_domain_set_reclaim_device_memory)
INT(mlx5dv_modify_qp_lag_port)
INT(mlx5dv_query_qp_lag_port)

/* MLX5_1.15 */
NULL_PTR(mlx5dv_dr_action_create_dest_devx_tir)

/* MLX5_1.16 */
NULL_PTR(mlx5dv_dr_action_create_dest_array)
NULL_PTR(mlx5dv_dr_action_create_flow_sampler)

/* MLX5_1.17 */
NULL_PTR(mlx5dv_dr_action_create_aso)
NULL_PTR(mlx5dv_dr_action_create_pop_vlan)
NULL_PTR(mlx5dv_dr_action_create_push_vlan)
INT(mlx5dv_dr_action_modify_aso)
INT(mlx5dv_modify_qp_sched_elem)
INT(mlx5dv_modify_qp_udp_sport)
NULL_PTR(mlx5dv_sched_leaf_create)
INT(mlx5dv_sched_leaf_destroy)
INT(mlx5dv_sched_leaf_modify)
NULL_PTR(mlx5dv_sched_node_create)
INT(mlx5dv_sched_node_destroy)
INT(mlx5dv_sched_node_modify)

/* MLX5_1.18 */
INT(mlx5dv_reserved_qpn_alloc)
INT(mlx5dv_reserved_qpn_dealloc)

/* MLX5_1.19 */
INT(_mlx5dv_query_port)
NULL_PTR(mlx5dv_devx_umem_reg_ex)
NULL_PTR(mlx5dv_dm_map_op_addr)

/* MLX5_1.20 */
INT(_mlx5dv_mkey_check)
NOTHING(mlx5dv_dr_domain_allow_duplicate_rules)
INT(mlx5dv_map_ah_to_qp)
INT(mlx5dv_qp_cancel_posted_send_wrs)

/* MLX5_1.21 */
INT(mlx5dv_crypto_login)
INT(mlx5dv_crypto_login_query_state)
INT(mlx5dv_crypto_logout)
INT(mlx5dv_dci_stream_id_reset)
NULL_PTR(mlx5dv_dek_create)
INT(mlx5dv_dek_destroy)
INT(mlx5dv_dek_query)
NULL_PTR(mlx5dv_dr_action_create_dest_ib_port)
INT(mlx5dv_dr_matcher_set_layout)
NULL_PTR(mlx5dv_get_vfio_device_list)
MINUS(mlx5dv_vfio_get_events_fd)
INT(mlx5dv_vfio_process_events)

/* MLX5_1.22 */
INT(mlx5dv_dr_aso_other_domain_link)
INT(mlx5dv_dr_aso_other_domain_unlink)

/* MLX5_1.23 */
NULL_PTR(mlx5dv_devx_alloc_msi_vector)
NULL_PTR(mlx5dv_devx_create_eq)
INT(mlx5dv_devx_destroy_eq)
INT(mlx5dv_devx_free_msi_vector)

/* MLX5_1.24 */
NULL_PTR(mlx5dv_create_steering_anchor)
NULL_PTR(mlx5dv_crypto_login_create)
INT(mlx5dv_crypto_login_destroy)
INT(mlx5dv_crypto_login_query)
INT(mlx5dv_destroy_steering_anchor)
NULL_PTR(mlx5dv_dr_action_create_dest_root_table)

/* MLX5_1.25 */
INT(mlx5dv_get_data_direct_sysfs_path)
NULL_PTR(mlx5dv_reg_dmabuf_mr)
