/* SPDX-License-Identifier: BSD-3-Clause */
/* What server and client have in common: an adapter with registered memory. */
#include "pair.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void pair_check(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "?";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "pair: %s: %s %s\n", call, major, minor);
	exit(1);
}

void pair_fail(const char *what)
{
	fprintf(stderr, "pair: %s\n", what);
	exit(1);
}

void pair_open(struct pair_node *node, const char *adapter, int messages)
{
	size_t size = (size_t)messages * sizeof(struct pair_message);
	DAT_REGION_DESCRIPTION region;
	DAT_VADDR address;
	DAT_VLEN length;

	node->async = DAT_HANDLE_NULL;
	pair_check(dat_ia_open((DAT_NAME_PTR)adapter, PAIR_QUEUE_LENGTH, &node->async, &node->ia),
		   "dat_ia_open");
	pair_check(dat_pz_create(node->ia, &node->pz), "dat_pz_create");
	node->messages = calloc(1, size);
	if (!node->messages)
		pair_fail("out of memory");
	region.for_va = node->messages;
	pair_check(dat_lmr_create(node->ia, DAT_MEM_TYPE_VIRTUAL, region, size, node->pz,
				  DAT_MEM_PRIV_ALL_FLAG, &node->lmr, &node->local, &node->key,
				  &length, &address),
		   "dat_lmr_create");
}

void pair_close(struct pair_node *node)
{
	pair_check(dat_lmr_free(node->lmr), "dat_lmr_free");
	pair_check(dat_pz_free(node->pz), "dat_pz_free");
	pair_check(dat_ia_close(node->ia, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
	free(node->messages);
}

DAT_LMR_TRIPLET pair_segment(const struct pair_node *node, int message)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = node->local,
		.virtual_address = (DAT_VADDR)(uintptr_t)&node->messages[message],
		.segment_length = sizeof(struct pair_message),
	};
}

struct pair_target pair_target(const struct pair_node *node, int message)
{
	return (struct pair_target){ node->key, 0, (DAT_VADDR)(uintptr_t)&node->messages[message] };
}

DAT_RMR_TRIPLET pair_remote(const struct pair_target *target)
{
	return (DAT_RMR_TRIPLET){ .rmr_context = target->key,
				  .target_address = target->address,
				  .segment_length = sizeof(struct pair_message) };
}
