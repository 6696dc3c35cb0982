/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls of librdmacm, rsockets included, with hostile arguments, as fuzz.h says. Ids and
 * rsockets come in each state that they can have.
 *
 * A time without limit is never passed, for the call would not return, as on a device. Names of
 * hosts that do not exist are not asked for: the machine's resolver would ask a network.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "cm_kit.h"
#include "rows.h"
#include "tests/support/asserts.h"

/* ---- after a success ---- */

static void undo_channel(uint64_t result, const uint64_t *args)
{
	(void)args;
	rdma_destroy_event_channel((struct rdma_event_channel *)result);
}

static void undo_id(uint64_t result, const uint64_t *args)
{
	(void)result;
	ck_assert_int_eq(rdma_destroy_id(*(struct rdma_cm_id **)args[1]), 0);
}

static void undo_ep(uint64_t result, const uint64_t *args)
{
	(void)result;
	rdma_destroy_ep(*(struct rdma_cm_id **)args[0]);
}

static void gone_id(uint64_t result, const uint64_t *args)
{
	(void)result;
	fuzz_kit_id_gone((struct rdma_cm_id *)args[0]);
}

static void gone_channel(uint64_t result, const uint64_t *args)
{
	(void)result;
	fuzz_kit_channel_gone((struct rdma_event_channel *)args[0]);
}

static void undo_devices(uint64_t result, const uint64_t *args)
{
	(void)args;
	rdma_free_devices((struct ibv_context **)result);
}

static void undo_info(uint64_t result, const uint64_t *args)
{
	(void)result;
	rdma_freeaddrinfo(*(struct rdma_addrinfo **)args[3]);
}

static void undo_fd(uint64_t result, const uint64_t *args)
{
	(void)args;
	ck_assert_int_eq(rclose((int)result), 0);
}

static void gone_fd(uint64_t result, const uint64_t *args)
{
	(void)result;
	fuzz_kit_fd_gone((int)args[0]);
}

/* ---- the table ---- */

/* The state of the id, or of the rsocket, with which the call succeeds. */
#define ID(state) GOOD(id, ID_##state)
#define FD(state) GOOD(fd, FD_##state)
#define PORT      7999

static const struct fuzz_call calls[] = {
	UNDONE("rdma_create_event_channel", POINTER, undo_channel),
	UNDONE("rdma_destroy_event_channel", NOTHING, gone_channel, ARG(channel)),
	UNDONE("rdma_create_id", MINUS, undo_id, ARG(channel_or_null), OUT(void *), ARG(u64),
	       GOOD(int, RDMA_PS_TCP)),
	UNDONE("rdma_destroy_id", MINUS, gone_id, ARG(lone_id)),
	ROW("rdma_migrate_id", MINUS, GOOD(any_id, ID_IDLE), ARG(channel_or_null)),
	ROW("rdma_bind_addr", MINUS, ID(IDLE), GOOD(addr, 0)),
	ROW("rdma_resolve_addr", MINUS, ID(IDLE), GOOD(addr, 0), GOOD(addr, PORT), GOOD(int, 1)),
	ROW("rdma_resolve_route", MINUS, ID(ADDRESS), GOOD(int, 1)),
	ROW("rdma_listen", MINUS, ID(BOUND), GOOD(int, 1)),
	ROW("rdma_connect", MINUS, ID(QP), ARG(param)),
	ROW("rdma_accept", MINUS, ID(ASKED), ARG(param)),
	ROW("rdma_reject", MINUS, ID(ASKED), GOOD(bytes_or_null, 256), GOOD(u8, 8)),
	ROW("rdma_reject_ece", MINUS, ID(ASKED), GOOD(bytes_or_null, 256), GOOD(u8, 8)),
	REFUSED("rdma_establish", MINUS, ID(ACTIVE)),
	ROW("rdma_notify", MINUS, ID(ACTIVE), GOOD(int, IBV_EVENT_COMM_EST)),
	ROW("rdma_disconnect", MINUS, ID(ACTIVE)),
	REFUSED("rdma_get_request", MINUS, GOOD(any_id, ID_SYNC_LISTENING), OUT(void *)),
	ROW("rdma_set_option", MINUS, ID(IDLE), GOOD(int, RDMA_OPTION_ID),
	    GOOD(int, RDMA_OPTION_ID_TOS), ARG(address), GOOD(u64, 1)),
	ROW("rdma_init_qp_attr", MINUS, ID(QP), GOOD(attr, IBV_QPS_INIT), OUT(int)),
	ROW("rdma_set_local_ece", MINUS, ID(ROUTE), ARG(ece)),
	ROW("rdma_get_remote_ece", MINUS, ID(ROUTE), GOOD(out_or_null, sizeof(struct ibv_ece))),
	ROW("rdma_get_src_port", ANY, ID(BOUND)),
	ROW("rdma_get_dst_port", ANY, ID(ROUTE)),

	ROW("rdma_create_qp", MINUS, ID(ROUTE), ARG(pd), ARG(init)),
	ROW("rdma_create_qp_ex", MINUS, ID(ROUTE), ARG(init)),
	ROW("rdma_destroy_qp", NOTHING, ARG(with_qp)),
	ROW("rdma_create_srq", MINUS, ID(ROUTE), ARG(pd), ARG(srq_init)),
	ROW("rdma_create_srq_ex", MINUS, ID(ROUTE), ARG(srq_init)),
	ROW("rdma_destroy_srq", NOTHING, ARG(with_srq)),
	UNDONE("rdma_create_ep", MINUS, undo_ep, OUT(void *), GOOD(info, PORT), ARG(pd),
	       GOOD(init_or_null, 1)),
	UNDONE("rdma_destroy_ep", NOTHING, gone_id, GOOD(any_id, ID_QP)),

	REFUSED("rdma_get_cm_event", MINUS, ARG(channel), GOOD(out_or_null, sizeof(void *))),
	ROW("rdma_ack_cm_event", MINUS, ARG(event)),
	ROW("rdma_event_str", FUZZ_TEXT, GOOD(int, RDMA_CM_EVENT_ESTABLISHED)),
	UNDONE("rdma_get_devices", POINTER, undo_devices, GOOD(out_or_null, sizeof(int))),
	ROW("rdma_free_devices", NOTHING, ARG(devices)),
	UNDONE("rdma_getaddrinfo", FUZZ_LOOKUP, undo_info, GOOD(node, "127.0.0.1"),
	       GOOD(text_or_null, "7471"), ARG(info_or_null), OUT(void *)),
	ROW("rdma_freeaddrinfo", NOTHING, ARG(infos)),
	ROW("rdma_join_multicast", MINUS, ID(DATAGRAM), ARG(addr), ARG(u64)),
	ROW("rdma_join_multicast_ex", MINUS, ID(DATAGRAM), ARG(join), ARG(u64)),
	REFUSED("rdma_leave_multicast", MINUS, ID(DATAGRAM), ARG(addr)),

	UNDONE("rsocket", MINUS, undo_fd, GOOD(int, AF_INET), GOOD(int, SOCK_STREAM), GOOD(int, 0)),
	UNDONE("rclose", MINUS, gone_fd, FD(ACTIVE)),
	ROW("rbind", MINUS, FD(OPEN), GOOD(addr, PORT), GOOD(u32, sizeof(struct sockaddr_in))),
	ROW("rlisten", MINUS, FD(BOUND), GOOD(int, 1)),
	REFUSED("raccept", MINUS, FD(LISTENING), GOOD(out_or_null, 128), GOOD(length, 128)),
	CHANGES("rconnect", MINUS, FD(OPEN), GOOD(addr, PORT),
		GOOD(u32, sizeof(struct sockaddr_in))),
	ROW("rshutdown", MINUS, FD(ACTIVE), GOOD(int, SHUT_WR)),
	ROW("rgetsockname", MINUS, FD(BOUND), GOOD(out_or_null, 128), GOOD(length, 128)),
	ROW("rgetpeername", MINUS, FD(ACTIVE), GOOD(out_or_null, 128), GOOD(length, 128)),
	ROW("rfcntl", MINUS, FD(OPEN), GOOD(int, F_GETFL), ARG(u64)),
	ROW("rsetsockopt", MINUS, FD(OPEN), GOOD(int, SOL_SOCKET), GOOD(int, SO_REUSEADDR),
	    GOOD(bytes_or_null, 64), GOOD(size, 64)),
	ROW("rgetsockopt", MINUS, FD(OPEN), GOOD(int, SOL_SOCKET), GOOD(int, SO_ERROR),
	    GOOD(out_or_null, 64), GOOD(length, 64)),
	ROW("rsend", SIZE, FD(ACTIVE), GOOD(bytes_or_null, 64), GOOD(size, 64), GOOD(int, 0)),
	ROW("rsendto", SIZE, FD(ACTIVE), GOOD(bytes_or_null, 64), GOOD(size, 64), GOOD(int, 0),
	    GOOD(only, 0), GOOD(int, 0)),
	ROW("rsendmsg", SIZE, FD(ACTIVE), ARG(msg), GOOD(int, 0)),
	ROW("rwrite", SIZE, FD(ACTIVE), GOOD(bytes_or_null, 64), GOOD(size, 64)),
	ROW("rwritev", SIZE, FD(ACTIVE), ARG(iov), ARG(count_of)),
	ROW("rrecv", SIZE, FD(ACTIVE), GOOD(out_or_null, 64), GOOD(size, 64), GOOD(int, 0)),
	ROW("rrecvfrom", SIZE, FD(ACTIVE), GOOD(out_or_null, 64), GOOD(size, 64), GOOD(int, 0),
	    GOOD(out_or_null, 128), GOOD(length, 128)),
	ROW("rrecvmsg", SIZE, FD(ACTIVE), ARG(msg), GOOD(int, 0)),
	ROW("rread", SIZE, FD(ACTIVE), GOOD(out_or_null, 64), GOOD(size, 64)),
	ROW("rreadv", SIZE, FD(ACTIVE), ARG(iov), ARG(count_of)),
	ROW("rpoll", MINUS, ARG(pollfds), ARG(pollcount), GOOD(only, 0)),
	ROW("rselect", MINUS, GOOD(int, 64), GOOD(set, 1), ARG(set), ARG(set), ARG(time)),
	ROW("riomap", SIZE, FD(ACTIVE), ARG(address), GOOD(u64, 64), GOOD(int, PROT_WRITE),
	    GOOD(int, 0), GOOD(u64, 0)),
	REFUSED("riounmap", MINUS, FD(ACTIVE), ARG(address), GOOD(u64, 64)),
	REFUSED("riowrite", SIZE, FD(ACTIVE), GOOD(bytes_or_null, 64), GOOD(size, 64), GOOD(u64, 0),
		GOOD(int, 0)),
};

const struct fuzz_library fuzz_library = {
	.table = "verbs/cm/names.tsv",
	.answer = 3,
	.calls = calls,
	.count = sizeof(calls) / sizeof(calls[0]),
	.begin = fuzz_kit_begin,
	.end = fuzz_kit_end,
	.make = fuzz_kit_make,
	.free = fuzz_kit_free,
	.sum = fuzz_kit_sum,
	.odd = fuzz_kit_iwarp,
};
