/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names of libibverbs and librdmacm that fault lines for a program may have: calls, errors,
 * statuses and events. Their headers need not be installed, so the numbers are written here;
 * tests/verbs/faults.sh compares each with what a program gets.
 */
#include "names_verbs.h"

#include <errno.h>
#include <string.h>

/* Of events of librdmacm, as FAULT_TEXT_CM_EVENT in host/fault_text.h. */
#define CM_EVENT 0x100

static const char *const calls[] = {
	"ibv_alloc_mw",       "ibv_alloc_pd",
	"ibv_attach_mcast",   "ibv_bind_mw",
	"ibv_create_ah",      "ibv_create_comp_channel",
	"ibv_create_cq",      "ibv_create_qp",
	"ibv_create_srq",     "ibv_modify_qp",
	"ibv_modify_srq",     "ibv_post_recv",
	"ibv_post_send",      "ibv_post_srq_recv",
	"ibv_reg_mr",         "ibv_req_notify_cq",
	"ibv_rereg_mr",       "ibv_resize_cq",
	"rdma_accept",        "rdma_bind_addr",
	"rdma_connect",       "rdma_create_qp",
	"rdma_disconnect",    "rdma_listen",
	"rdma_reject",        "rdma_resolve_addr",
	"rdma_resolve_route", NULL,
};

static const struct named errors[] = {
	{ "ENOMEM", ENOMEM },
	{ "EINVAL", EINVAL },
	{ "EIO", EIO },
	{ "EACCES", EACCES },
	{ "EADDRINUSE", EADDRINUSE },
	{ "EADDRNOTAVAIL", EADDRNOTAVAIL },
	{ "EBUSY", EBUSY },
	{ "ECONNREFUSED", ECONNREFUSED },
	{ "ECONNRESET", ECONNRESET },
	{ "EFAULT", EFAULT },
	{ "EHOSTUNREACH", EHOSTUNREACH },
	{ "EINTR", EINTR },
	{ "EMFILE", EMFILE },
	{ "ENETUNREACH", ENETUNREACH },
	{ "ENFILE", ENFILE },
	{ "ENODEV", ENODEV },
	{ "ENOSPC", ENOSPC },
	{ "ENOSYS", ENOSYS },
	{ "ENOTCONN", ENOTCONN },
	{ "EOPNOTSUPP", EOPNOTSUPP },
	{ "EPERM", EPERM },
	{ "ETIMEDOUT", ETIMEDOUT },
	{ NULL, 0 },
};

static const struct named statuses[] = {
	{ "IBV_WC_LOC_LEN_ERR", 1 },         { "IBV_WC_LOC_QP_OP_ERR", 2 },
	{ "IBV_WC_LOC_EEC_OP_ERR", 3 },      { "IBV_WC_LOC_PROT_ERR", 4 },
	{ "IBV_WC_WR_FLUSH_ERR", 5 },        { "IBV_WC_MW_BIND_ERR", 6 },
	{ "IBV_WC_BAD_RESP_ERR", 7 },        { "IBV_WC_LOC_ACCESS_ERR", 8 },
	{ "IBV_WC_REM_INV_REQ_ERR", 9 },     { "IBV_WC_REM_ACCESS_ERR", 10 },
	{ "IBV_WC_REM_OP_ERR", 11 },         { "IBV_WC_RETRY_EXC_ERR", 12 },
	{ "IBV_WC_RNR_RETRY_EXC_ERR", 13 },  { "IBV_WC_LOC_RDD_VIOL_ERR", 14 },
	{ "IBV_WC_REM_INV_RD_REQ_ERR", 15 }, { "IBV_WC_REM_ABORT_ERR", 16 },
	{ "IBV_WC_INV_EECN_ERR", 17 },       { "IBV_WC_INV_EEC_STATE_ERR", 18 },
	{ "IBV_WC_FATAL_ERR", 19 },          { "IBV_WC_RESP_TIMEOUT_ERR", 20 },
	{ "IBV_WC_GENERAL_ERR", 21 },        { "IBV_WC_TM_ERR", 22 },
	{ "IBV_WC_TM_RNDV_INCOMPLETE", 23 }, { NULL, 0 },
};

static const struct named events[] = {
	{ "IBV_EVENT_SRQ_LIMIT_REACHED", 15 },
	{ "RDMA_CM_EVENT_ADDR_ERROR", CM_EVENT + 1 },
	{ "RDMA_CM_EVENT_ROUTE_ERROR", CM_EVENT + 3 },
	{ "RDMA_CM_EVENT_CONNECT_REQUEST", CM_EVENT + 4 },
	{ "RDMA_CM_EVENT_CONNECT_RESPONSE", CM_EVENT + 5 },
	{ "RDMA_CM_EVENT_UNREACHABLE", CM_EVENT + 7 },
	{ "RDMA_CM_EVENT_REJECTED", CM_EVENT + 8 },
	{ "RDMA_CM_EVENT_ESTABLISHED", CM_EVENT + 9 },
	{ "RDMA_CM_EVENT_DISCONNECTED", CM_EVENT + 10 },
	{ "RDMA_CM_EVENT_TIMEWAIT_EXIT", CM_EVENT + 15 },
	{ NULL, 0 },
};

static const struct named *const kinds[] = {
	[VERBS_ERROR] = errors,
	[VERBS_STATUS] = statuses,
	[VERBS_EVENT] = events,
};

bool verbs_is_call(const char *name)
{
	size_t i;

	for (i = 0; calls[i] && strcmp(calls[i], name) != 0; i++)
		;
	return calls[i] != NULL;
}

void verbs_suggest_call(struct suggest *suggest)
{
	size_t i;

	for (i = 0; calls[i]; i++)
		suggest_try(suggest, calls[i]);
}

bool verbs_find(enum verbs_kind kind, const char *name, uint64_t *number)
{
	const struct named *named = kinds[kind];

	while (named->name && strcmp(named->name, name) != 0)
		named++;
	if (named->name)
		*number = named->value;
	return named->name != NULL;
}

void verbs_suggest(enum verbs_kind kind, struct suggest *suggest)
{
	const struct named *named;

	for (named = kinds[kind]; named->name; named++)
		suggest_try(suggest, named->name);
}

bool verbs_looks_like(const char *name)
{
	return !strncmp(name, "ibv_", 4) || !strncmp(name, "rdma_", 5) ||
	       !strncmp(name, "IBV_", 4) || !strncmp(name, "RDMA_", 5);
}
