/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * refused.c - the names of libibverbs that are not implemented.
 *
 * They exist, for a program that imports a name that is missing would not start. Each answers as
 * its call reports an error, with EOPNOTSUPP. Nothing here looks at an argument, so none is
 * declared, and verbs.h is not included. The names of IBVERBS_1.0 are for programs of 2006, whose
 * structs had another form.
 */
#include <errno.h>
#include <stddef.h>

#define INT(name)                  \
	int name(void);            \
	int name(void)             \
	{                          \
		return EOPNOTSUPP; \
	}

#define MINUS(name)                 \
	int name(void);             \
	int name(void)              \
	{                           \
		errno = EOPNOTSUPP; \
		return -1;          \
	}

#define NULL_PTR(name)              \
	void *name(void);           \
	void *name(void)            \
	{                           \
		errno = EOPNOTSUPP; \
		return NULL;        \
	}

#define NOTHING(name)    \
	void name(void); \
	void name(void)  \
	{                \
	}

/* The same for a name that only old programs use. */
#define OLD(kind, name, version)                                              \
	__asm__(".symver refused_" #name "_old, " #name "@IBVERBS_" version); \
	kind(refused_##name##_old)

/* A name that has an old form as well. */
#define NEW(kind, name)                                        \
	__asm__(".symver " #name ", " #name "@@@IBVERBS_1.1"); \
	kind(name)

/* A flag that drivers read. */
extern int verbs_allow_disassociate_destroy;
int verbs_allow_disassociate_destroy;

/* IBVERBS_1.0 */
NOTHING(ibv_copy_path_rec_from_kern)
NOTHING(ibv_copy_path_rec_to_kern)
NOTHING(ibv_copy_qp_attr_from_kern)

/* IBVERBS_1.1 */
NOTHING(ibv_copy_ah_attr_from_kern)
INT(ibv_resolve_eth_l2_from_gid)

/* IBVERBS_1.10 */
NULL_PTR(ibv_import_device)
NULL_PTR(ibv_import_mr)
NULL_PTR(ibv_import_pd)
NOTHING(ibv_unimport_mr)
NOTHING(ibv_unimport_pd)

/* IBVERBS_1.12 */
NULL_PTR(ibv_reg_dmabuf_mr)

/* IBVERBS_1.13 */
NULL_PTR(ibv_import_dm)
NOTHING(ibv_unimport_dm)

/* IBVERBS_PRIVATE_34 */
INT(__ioctl_final_num_attrs)
NOTHING(__verbs_log)
NULL_PTR(_verbs_init_and_alloc_context)
INT(execute_ioctl)
INT(ibv_cmd_advise_mr)
INT(ibv_cmd_alloc_dm)
INT(ibv_cmd_alloc_mw)
INT(ibv_cmd_alloc_pd)
INT(ibv_cmd_attach_mcast)
INT(ibv_cmd_close_xrcd)
INT(ibv_cmd_create_ah)
INT(ibv_cmd_create_counters)
INT(ibv_cmd_create_cq)
INT(ibv_cmd_create_cq_ex)
INT(ibv_cmd_create_flow)
INT(ibv_cmd_create_flow_action_esp)
INT(ibv_cmd_create_qp)
INT(ibv_cmd_create_qp_ex)
INT(ibv_cmd_create_qp_ex2)
INT(ibv_cmd_create_rwq_ind_table)
INT(ibv_cmd_create_srq)
INT(ibv_cmd_create_srq_ex)
INT(ibv_cmd_create_wq)
INT(ibv_cmd_dealloc_mw)
INT(ibv_cmd_dealloc_pd)
INT(ibv_cmd_dereg_mr)
INT(ibv_cmd_destroy_ah)
INT(ibv_cmd_destroy_counters)
INT(ibv_cmd_destroy_cq)
INT(ibv_cmd_destroy_flow)
INT(ibv_cmd_destroy_flow_action)
INT(ibv_cmd_destroy_qp)
INT(ibv_cmd_destroy_rwq_ind_table)
INT(ibv_cmd_destroy_srq)
INT(ibv_cmd_destroy_wq)
INT(ibv_cmd_detach_mcast)
INT(ibv_cmd_free_dm)
INT(ibv_cmd_get_context)
INT(ibv_cmd_modify_cq)
INT(ibv_cmd_modify_flow_action_esp)
INT(ibv_cmd_modify_qp)
INT(ibv_cmd_modify_qp_ex)
INT(ibv_cmd_modify_srq)
INT(ibv_cmd_modify_wq)
INT(ibv_cmd_open_qp)
INT(ibv_cmd_open_xrcd)
INT(ibv_cmd_poll_cq)
INT(ibv_cmd_post_recv)
INT(ibv_cmd_post_send)
INT(ibv_cmd_post_srq_recv)
INT(ibv_cmd_query_context)
INT(ibv_cmd_query_device_any)
INT(ibv_cmd_query_mr)
INT(ibv_cmd_query_port)
INT(ibv_cmd_query_qp)
INT(ibv_cmd_query_srq)
INT(ibv_cmd_read_counters)
INT(ibv_cmd_reg_dm_mr)
INT(ibv_cmd_reg_dmabuf_mr)
INT(ibv_cmd_reg_mr)
INT(ibv_cmd_req_notify_cq)
INT(ibv_cmd_rereg_mr)
INT(ibv_cmd_resize_cq)
MINUS(ibv_read_ibdev_sysfs_file)
NOTHING(verbs_init_cq)
NULL_PTR(verbs_open_device)
NOTHING(verbs_register_driver_34)
NOTHING(verbs_set_ops)
NOTHING(verbs_uninit_context)

/* of old programs */
OLD(NOTHING, ibv_ack_async_event, "1.0")
OLD(NOTHING, ibv_ack_cq_events, "1.0")
OLD(NULL_PTR, ibv_alloc_pd, "1.0")
OLD(INT, ibv_attach_mcast, "1.0")
OLD(INT, ibv_close_device, "1.0")
OLD(NULL_PTR, ibv_create_ah, "1.0")
OLD(NULL_PTR, ibv_create_cq, "1.0")
OLD(NULL_PTR, ibv_create_qp, "1.0")
OLD(NULL_PTR, ibv_create_srq, "1.0")
OLD(INT, ibv_dealloc_pd, "1.0")
OLD(INT, ibv_dereg_mr, "1.0")
OLD(INT, ibv_destroy_ah, "1.0")
OLD(INT, ibv_destroy_cq, "1.0")
OLD(INT, ibv_destroy_qp, "1.0")
OLD(INT, ibv_destroy_srq, "1.0")
OLD(INT, ibv_detach_mcast, "1.0")
OLD(NOTHING, ibv_free_device_list, "1.0")
OLD(MINUS, ibv_get_async_event, "1.0")
OLD(MINUS, ibv_get_cq_event, "1.0")
OLD(INT, ibv_get_device_guid, "1.0")
OLD(NULL_PTR, ibv_get_device_list, "1.0")
OLD(NULL_PTR, ibv_get_device_name, "1.0")
OLD(INT, ibv_modify_qp, "1.0")
OLD(INT, ibv_modify_srq, "1.0")
OLD(NULL_PTR, ibv_open_device, "1.0")
OLD(INT, ibv_query_device, "1.0")
OLD(MINUS, ibv_query_gid, "1.0")
OLD(MINUS, ibv_query_pkey, "1.0")
OLD(INT, ibv_query_port, "1.0")
OLD(INT, ibv_query_qp, "1.0")
OLD(INT, ibv_query_srq, "1.0")
OLD(NULL_PTR, ibv_reg_mr, "1.0")
OLD(INT, ibv_resize_cq, "1.0")
OLD(NOTHING, ibv_register_driver, "1.1")
