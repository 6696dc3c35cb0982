/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls of libibverbs, those of verbs/names.tsv and those that programs reach by the context:
 * each with hostile arguments, as fuzz.h says.
 */
#include "rows.h"
#include "tests/support/asserts.h"
#include "verbs_kit.h"

/* ---- after a success ---- */

#define UNDO(name, call, type)                                               \
	static void undo_##name(uint64_t result, const uint64_t *args)       \
	{                                                                    \
		(void)args;                                                  \
		ck_assert_int_eq(call((struct type *)(uintptr_t)result), 0); \
	}
UNDO(channel, ibv_destroy_comp_channel, ibv_comp_channel)
UNDO(context, ibv_close_device, ibv_context)
UNDO(pd, ibv_dealloc_pd, ibv_pd)
UNDO(mr, ibv_dereg_mr, ibv_mr)
UNDO(mw, ibv_dealloc_mw, ibv_mw)
UNDO(cq, ibv_destroy_cq, ibv_cq)
UNDO(srq, ibv_destroy_srq, ibv_srq)
UNDO(qp, ibv_destroy_qp, ibv_qp)
UNDO(ah, ibv_destroy_ah, ibv_ah)

static void undo_list(uint64_t result, const uint64_t *args)
{
	(void)args;
	ibv_free_device_list((struct ibv_device **)(uintptr_t)result);
}

/* One of another device, which is the pair's, has users and cannot be destroyed. */
#define GONE(name)                                                     \
	static void gone_##name(uint64_t result, const uint64_t *args) \
	{                                                              \
		(void)result;                                          \
		(void)args;                                            \
		fuzz_kit.lone.name = NULL;                             \
	}
GONE(context)
GONE(list)
GONE(pd)
GONE(mr)
GONE(mw)
GONE(channel)
GONE(cq)
GONE(srq)
GONE(qp)
GONE(ah)

static void undo_attach(uint64_t result, const uint64_t *args)
{
	(void)result;
	ck_assert_int_eq(ibv_detach_mcast((struct ibv_qp *)args[0], (union ibv_gid *)args[1],
					  (uint16_t)args[2]),
			 0);
}

/* ---- calls by the context ---- */

#define P(type, n) ((struct type *)(uintptr_t)args[n])
#define BY_CONTEXT(name, call)                            \
	static uint64_t call_##name(const uint64_t *args) \
	{                                                 \
		return (uint64_t)(uintptr_t)(call);       \
	}
BY_CONTEXT(post_send,
	   (long)ibv_post_send(P(ibv_qp, 0), P(ibv_send_wr, 1), (struct ibv_send_wr **)args[2]))
BY_CONTEXT(post_recv,
	   (long)ibv_post_recv(P(ibv_qp, 0), P(ibv_recv_wr, 1), (struct ibv_recv_wr **)args[2]))
BY_CONTEXT(post_srq_recv, (long)ibv_post_srq_recv(P(ibv_srq, 0), P(ibv_recv_wr, 1),
						  (struct ibv_recv_wr **)args[2]))
BY_CONTEXT(poll_cq, (long)ibv_poll_cq(P(ibv_cq, 0), (int)args[1], P(ibv_wc, 2)))
BY_CONTEXT(notify, (long)ibv_req_notify_cq(P(ibv_cq, 0), (int)args[1]))
BY_CONTEXT(alloc_mw, ibv_alloc_mw(P(ibv_pd, 0), (enum ibv_mw_type)args[1]))
BY_CONTEXT(dealloc_mw, (long)ibv_dealloc_mw(P(ibv_mw, 0)))
BY_CONTEXT(bind_mw, (long)ibv_bind_mw(P(ibv_qp, 0), fuzz_kit.lone.mw, P(ibv_mw_bind, 1)))
BY_CONTEXT(query_port,
	   (long)ibv_query_port(P(ibv_context, 0), (uint8_t)args[1], P(ibv_port_attr, 2)))
BY_CONTEXT(query_device,
	   (long)ibv_query_device_ex(P(ibv_context, 0), P(ibv_query_device_ex_input, 1),
				     P(ibv_device_attr_ex, 2)))
BY_CONTEXT(rt_values, (long)ibv_query_rt_values_ex(P(ibv_context, 0), P(ibv_values_ex, 1)))
BY_CONTEXT(create_qp, ibv_create_qp_ex(P(ibv_context, 0), P(ibv_qp_init_attr_ex, 1)))
BY_CONTEXT(create_cq, ibv_create_cq_ex(P(ibv_context, 0), P(ibv_cq_init_attr_ex, 1)))
BY_CONTEXT(create_srq, ibv_create_srq_ex(P(ibv_context, 0), P(ibv_srq_init_attr_ex, 1)))

/* ---- batches ---- */

static void begin_request(struct ibv_qp_ex *ex, unsigned int what, uint32_t key)
{
	struct ibv_mw_bind_info info = { .mr = fuzz_kit.busy.mr, .addr = key, .length = key };

	switch (what % 8) {
	case 0:
		ibv_wr_send(ex);
		break;
	case 1:
		ibv_wr_send_imm(ex, key);
		break;
	case 2:
		ibv_wr_rdma_write(ex, key, key);
		break;
	case 3:
		ibv_wr_rdma_read(ex, key, key);
		break;
	case 4:
		ibv_wr_atomic_fetch_add(ex, key, key, 1);
		break;
	case 5:
		ibv_wr_bind_mw(ex, key % 2 ? fuzz_kit.lone.mw : fuzz_kit.busy.mw, key, &info);
		break;
	case 6:
		ibv_wr_local_inv(ex, key);
		break;
	default:
		break; /* a payload without a request */
	}
}

static void set_payload(struct ibv_qp_ex *ex, unsigned int what, uint32_t key)
{
	struct ibv_data_buf parts[2] = { { fuzz_kit.memory, 8 }, { fuzz_kit.memory, 16 } };
	struct ibv_sge sge[3] = { { (uintptr_t)fuzz_kit.memory, 8, key } };

	switch (what % 8) {
	case 0:
		ibv_wr_set_sge(ex, fuzz_kit.busy.mr->lkey, (uintptr_t)fuzz_kit.memory, 8);
		break;
	case 1:
		ibv_wr_set_sge(ex, key, key, key & 0xffff);
		break;
	case 2:
		ibv_wr_set_sge_list(ex, 3, sge); /* more than the queue pair takes */
		break;
	case 3:
		ibv_wr_set_sge_list(ex, SIZE_MAX, sge);
		break;
	case 4:
		ibv_wr_set_inline_data(ex, fuzz_kit.memory, SIZE_MAX);
		break;
	case 5:
		parts[1].length = SIZE_MAX - 5; /* their sum is 2 */
		ibv_wr_set_inline_data_list(ex, 2, parts);
		break;
	case 6:
		ibv_wr_set_inline_data_list(ex, 2, parts);
		break;
	default:
		ibv_wr_set_ud_addr(ex, key % 2 ? fuzz_kit.lone.ah : NULL, key, key);
		break;
	}
}

static uint64_t call_batch(const uint64_t *args)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(P(ibv_qp, 0));

	ibv_wr_start(ex);
	ex->wr_flags = (unsigned int)args[4];
	begin_request(ex, (unsigned int)args[1], (uint32_t)args[3]);
	set_payload(ex, (unsigned int)args[2], (uint32_t)args[3]);
	if (args[2] % 16 < 8)
		return (uint64_t)(long)ibv_wr_complete(ex);
	ibv_wr_abort(ex);
	return 0;
}

/* ---- the table ---- */

#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ)
#define MODIFY (IBV_QP_STATE | IBV_QP_CUR_STATE)

static const struct fuzz_call calls[] = {
	ROW("ibv_get_sysfs_path", TEXT),
	ROW("ibv_fork_init", ERRNO),
	ROW("ibv_is_fork_initialized", ANY),
	ROW("ibv_rate_to_mult", ANY, GOOD(int, IBV_RATE_10_GBPS)),
	ROW("ibv_rate_to_mbps", ANY, GOOD(int, IBV_RATE_10_GBPS)),
	ROW("mult_to_ibv_rate", ANY, GOOD(int, 4)),
	ROW("mbps_to_ibv_rate", ANY, GOOD(int, 10000)),
	ROW("ibv_event_type_str", TEXT, GOOD(int, IBV_EVENT_CQ_ERR)),
	ROW("ibv_node_type_str", TEXT, GOOD(int, IBV_NODE_CA)),
	ROW("ibv_port_state_str", TEXT, GOOD(int, IBV_PORT_ACTIVE)),
	ROW("ibv_wc_status_str", TEXT, GOOD(int, IBV_WC_SUCCESS)),
	ROW("ibv_wr_opcode_str", TEXT, GOOD(int, IBV_WR_SEND)),
	ROW("ibv_dontfork_range", ERRNO, ARG(address), ARG(u64)),
	ROW("ibv_dofork_range", ERRNO, ARG(address), ARG(u64)),
	ROW("ibv_read_sysfs_file", MINUS, GOOD(text, "/sys/class/infiniband/emu0"),
	    GOOD(text, "board_id"), GOOD(bytes, 64), GOOD(size, 64)),

	UNDONE("ibv_get_device_list", POINTER, undo_list, GOOD(out_or_null, sizeof(int))),
	UNDONE("ibv_free_device_list", NOTHING, gone_list, ARG(lone_list)),
	ROW("ibv_get_device_name", TEXT, ARG(device)),
	ROW("ibv_get_device_guid", ANY, ARG(device)),
	ROW("ibv_get_device_index", ANY, ARG(device)),
	UNDONE("ibv_open_device", POINTER, undo_context, ARG(device)),
	UNDONE("ibv_close_device", ERRNO, gone_context, ARG(lone_context)),
	ROW("ibv_query_device", ERRNO, ARG(context), OUT(struct ibv_device_attr)),
	ROW("ibv_query_port", ERRNO, ARG(context), GOOD(u8, 1),
	    GOOD(out, offsetof(struct ibv_port_attr, port_cap_flags2))),
	ROW("ibv_query_gid", MINUS, ARG(context), GOOD(u8, 1), GOOD(int, 0), OUT(union ibv_gid)),
	ROW("ibv_query_gid_type", MINUS, ARG(context), GOOD(u8, 1), GOOD(int, 0), OUT(int)),
	ROW("_ibv_query_gid_ex", ERRNO, ARG(context), GOOD(u32, 1), GOOD(u32, 0),
	    OUT(struct ibv_gid_entry), GOOD(u32, 0), GOOD(size, sizeof(struct ibv_gid_entry))),
	ROW("_ibv_query_gid_table", FUZZ_COUNT, ARG(context),
	    GOOD(out, 2 * sizeof(struct ibv_gid_entry)), GOOD(u64, 2), GOOD(u32, 0),
	    GOOD(size, sizeof(struct ibv_gid_entry))),
	ROW("ibv_query_pkey", MINUS, ARG(context), GOOD(u8, 1), GOOD(int, 0), OUT(__be16)),
	ROW("ibv_get_pkey_index", MINUS, ARG(context), GOOD(u8, 1), GOOD(u16, 0xffff)),

	UNDONE("ibv_alloc_pd", POINTER, undo_pd, ARG(context)),
	UNDONE("ibv_dealloc_pd", ERRNO, gone_pd, ARG(lone_pd)),
	UNDONE("ibv_reg_mr", POINTER, undo_mr, ARG(pd), GOOD(address, fuzz_kit.memory),
	       GOOD(u64, 64), GOOD(int, ACCESS)),
	UNDONE("ibv_reg_mr_iova", POINTER, undo_mr, ARG(pd), GOOD(address, fuzz_kit.memory),
	       GOOD(u64, 64), ARG(u64), GOOD(int, ACCESS)),
	UNDONE("ibv_reg_mr_iova2", POINTER, undo_mr, ARG(pd), GOOD(address, fuzz_kit.memory),
	       GOOD(u64, 64), ARG(u64), GOOD(u32, ACCESS)),
	ROW("ibv_rereg_mr", FUZZ_SMALL, ARG(mr), GOOD(int, IBV_REREG_MR_CHANGE_ACCESS), ARG(pd),
	    ARG(address), GOOD(u64, 64), GOOD(int, ACCESS)),
	UNDONE("ibv_dereg_mr", ERRNO, gone_mr, ARG(lone_mr)),

	UNDONE("ibv_create_comp_channel", POINTER, undo_channel, ARG(context)),
	UNDONE("ibv_destroy_comp_channel", ERRNO, gone_channel, ARG(lone_channel)),
	UNDONE("ibv_create_cq", POINTER, undo_cq, ARG(context), GOOD(int, 4), ARG(u64),
	       ARG(channel_or_null), ARG(int)),
	ROW("ibv_resize_cq", ERRNO, ARG(cq), GOOD(int, 8)),
	UNDONE("ibv_destroy_cq", ERRNO, gone_cq, ARG(lone_cq)),
	REFUSED("ibv_get_cq_event", MINUS, ARG(channel), GOOD(out_or_null, sizeof(void *)),
		GOOD(out_or_null, sizeof(void *))),
	ROW("ibv_ack_cq_events", NOTHING, ARG(cq), GOOD(only, 0)),
	REFUSED("ibv_get_async_event", MINUS, ARG(context),
		GOOD(out_or_null, sizeof(struct ibv_async_event))),
	ROW("ibv_ack_async_event", NOTHING, GOOD(event, IBV_EVENT_PORT_ERR)),

	UNDONE("ibv_create_srq", POINTER, undo_srq, ARG(pd), ARG(srq_init)),
	ROW("ibv_modify_srq", ERRNO, ARG(srq), GOOD(bytes, sizeof(struct ibv_srq_attr)),
	    GOOD(int, IBV_SRQ_LIMIT)),
	ROW("ibv_query_srq", ERRNO, ARG(srq), OUT(struct ibv_srq_attr)),
	UNDONE("ibv_destroy_srq", ERRNO, gone_srq, ARG(lone_srq)),
	UNDONE("ibv_create_qp", POINTER, undo_qp, ARG(pd), ARG(qp_init)),
	ROW("ibv_modify_qp", ERRNO, ARG(qp), GOOD(qp_attr, IBV_QPS_RTS), GOOD(int, MODIFY)),
	ROW("ibv_query_qp", ERRNO, ARG(qp), OUT(struct ibv_qp_attr), GOOD(int, IBV_QP_STATE),
	    OUT(struct ibv_qp_init_attr)),
	ROW("ibv_query_qp_data_in_order", ANY, ARG(qp), ARG(int), ARG(u32)),
	ROW("ibv_qp_to_qp_ex", ANY, ARG(qp)),
	REFUSED("ibv_query_ece", ERRNO, ARG(qp), OUT(struct ibv_ece)),
	REFUSED("ibv_set_ece", ERRNO, ARG(qp), GOOD(bytes, sizeof(struct ibv_ece))),
	UNDONE("ibv_destroy_qp", ERRNO, gone_qp, ARG(lone_qp)),
	UNDONE("ibv_attach_mcast", ERRNO, undo_attach, ARG(ud), ARG(gid), GOOD(u16, 0xc001)),
	REFUSED("ibv_detach_mcast", ERRNO, ARG(qp), ARG(gid), GOOD(u16, 0xc001)),

	UNDONE("ibv_create_ah", POINTER, undo_ah, ARG(pd), ARG(ah_attr)),
	UNDONE("ibv_create_ah_from_wc", POINTER, undo_ah, ARG(pd), ARG(wc), ARG(grh), GOOD(u8, 1)),
	ROW("ibv_init_ah_from_wc", MINUS, ARG(context), GOOD(u8, 1), ARG(wc), ARG(grh),
	    OUT(struct ibv_ah_attr)),
	UNDONE("ibv_destroy_ah", ERRNO, gone_ah, ARG(lone_ah)),

	OP("post_send", ERRNO, call_post_send, NULL, ARG(qp), ARG(send_wr),
	   GOOD(bytes, sizeof(void *))),
	OP("post_recv", ERRNO, call_post_recv, NULL, ARG(qp), ARG(recv_wr),
	   GOOD(bytes, sizeof(void *))),
	OP("post_srq_recv", ERRNO, call_post_srq_recv, NULL, ARG(srq), ARG(recv_wr),
	   GOOD(bytes, sizeof(void *))),
	OP("ibv_wr_complete", ERRNO, call_batch, NULL, ARG(qp), ARG(u8), ARG(u8), ARG(u32),
	   ARG(u32)),
	OP("poll_cq", FUZZ_SMALL, call_poll_cq, NULL, ARG(cq), GOOD(only, 1), OUT(struct ibv_wc)),
	OP("req_notify_cq", ERRNO, call_notify, NULL, ARG(cq), ARG(int)),
	OP("alloc_mw", POINTER, call_alloc_mw, undo_mw, ARG(pd), GOOD(int, IBV_MW_TYPE_1)),
	OP("dealloc_mw", ERRNO, call_dealloc_mw, gone_mw, ARG(lone_mw)),
	OP("bind_mw", ERRNO, call_bind_mw, NULL, ARG(qp), ARG(bind)),
	OP("query_port", ERRNO, call_query_port, NULL, ARG(context), GOOD(u8, 1),
	   OUT(struct ibv_port_attr)),
	OP("query_device_ex", ERRNO, call_query_device, NULL, ARG(context),
	   GOOD(bytes_or_null, sizeof(struct ibv_query_device_ex_input)),
	   OUT(struct ibv_device_attr_ex)),
	OP("query_rt_values_ex", ERRNO, call_rt_values, NULL, ARG(context),
	   GOOD(bytes, sizeof(struct ibv_values_ex))),
	OP("create_qp_ex", POINTER, call_create_qp, undo_qp, ARG(context), ARG(qp_init_ex)),
	OP("create_cq_ex", POINTER, call_create_cq, undo_cq, ARG(context), ARG(cq_init_ex)),
	OP("create_srq_ex", POINTER, call_create_srq, undo_srq, ARG(context), ARG(srq_init_ex)),
};

const struct fuzz_library fuzz_library = {
	.table = "verbs/names.tsv",
	.answer = 4,
	.calls = calls,
	.count = sizeof(calls) / sizeof(calls[0]),
	.begin = fuzz_kit_begin,
	.end = fuzz_kit_end,
	.make = fuzz_kit_make,
	.free = fuzz_kit_free,
	.sum = fuzz_kit_sum,
};
