/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What server and clients have in common: an adapter with its objects, events and errors.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "rpc.h"

#define EVENTS 1024

void rpc_check(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "?";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "rpc: %s: %s %s\n", call, major, minor);
	exit(1);
}

void rpc_fail(const char *what)
{
	fprintf(stderr, "rpc: %s\n", what);
	exit(1);
}

void node_open(struct node *node, const char *adapter, int count)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT rmr;
	DAT_VLEN size;
	DAT_VADDR address;

	node->async = DAT_HANDLE_NULL;
	rpc_check(dat_ia_open((DAT_NAME_PTR)adapter, 16, &node->async, &node->ia), "dat_ia_open");
	rpc_check(dat_pz_create(node->ia, &node->pz), "dat_pz_create");
	rpc_check(dat_evd_create(node->ia, EVENTS, DAT_HANDLE_NULL,
				 DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG,
				 &node->evd),
		  "dat_evd_create");
	node->buffers = calloc((size_t)count, RPC_BYTES);
	if (!node->buffers)
		rpc_fail("out of memory");
	region.for_va = node->buffers;
	rpc_check(dat_lmr_create(node->ia, DAT_MEM_TYPE_VIRTUAL, region,
				 (DAT_VLEN)count * RPC_BYTES, node->pz,
				 DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
				 &node->lmr, &node->context, &rmr, &size, &address),
		  "dat_lmr_create");
}

void node_close(struct node *node)
{
	rpc_check(dat_lmr_free(node->lmr), "dat_lmr_free");
	rpc_check(dat_evd_free(node->evd), "dat_evd_free");
	rpc_check(dat_pz_free(node->pz), "dat_pz_free");
	rpc_check(dat_ia_close(node->ia, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
	free(node->buffers);
}

DAT_LMR_TRIPLET node_segment(const struct node *node, int buffer, size_t length)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = node->context,
		.virtual_address = (DAT_VADDR)(uintptr_t)node->buffers[buffer],
		.segment_length = length,
	};
}

int node_event(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_EVENT *event)
{
	DAT_COUNT more;
	DAT_RETURN ret = timeout ? dat_evd_wait(evd, timeout, 1, event, &more)
				 : dat_evd_dequeue(evd, event);

	if (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY || DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
		return 0;
	rpc_check(ret, timeout ? "dat_evd_wait" : "dat_evd_dequeue");
	return 1;
}

int rpc_do(uint16_t call, char *text, size_t length)
{
	size_t i;
	char c;

	switch (call) {
	case RPC_UPPER:
		for (i = 0; i < length; i++)
			text[i] = (char)toupper((unsigned char)text[i]);
		return 1;
	case RPC_REVERSE:
		for (i = 0; i < length / 2; i++) {
			c = text[i];
			text[i] = text[length - 1 - i];
			text[length - 1 - i] = c;
		}
		return 1;
	default:
		return 0;
	}
}
