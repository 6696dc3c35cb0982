/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kit.c - what a call may not change: two connected queue pairs, and the number of objects, events
 * and descriptors. The lists of objects are those that the library itself has (verbs/vb.h).
 */
#include <dirent.h>

#include "fuzz.h"
#include "tests/support/asserts.h"
#include "verbs/vb.h"

struct verbs_end fuzz_a, fuzz_b;

void fuzz_way(const struct verbs_end *to, struct ibv_ah_attr *way)
{
	*way = (struct ibv_ah_attr){ .dlid = to->port.lid, .port_num = 1, .is_global = 1 };
	way->grh.hop_limit = 1;
	ck_assert_int_eq(ibv_query_gid(to->context, 1, 0, &way->grh.dgid), 0);
}

static void move_on(struct verbs_end *end, const struct verbs_end *peer, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = verbs_attr(end, peer);

	attr.qp_state = state;
	fuzz_way(peer, &attr.ah_attr);
	ck_assert_int_eq(ibv_modify_qp(end->qp, &attr, verbs_mask(state)), 0);
}

void fuzz_connect_pair(void)
{
	verbs_open(&fuzz_a, 0);
	verbs_open(&fuzz_b, 1);
	verbs_make_qp(&fuzz_a);
	verbs_make_qp(&fuzz_b);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		move_on(&fuzz_a, &fuzz_b, (enum ibv_qp_state)state);
		move_on(&fuzz_b, &fuzz_a, (enum ibv_qp_state)state);
	}
}

static void count_context(const struct vb_context *context, struct fuzz_state *state)
{
	const struct vb_async *event;
	const struct vb_obj *obj;

	state->contexts++;
	TAILQ_FOREACH(event, &context->events, link)
		state->events++;
	TAILQ_FOREACH(obj, &context->objects, link) {
		state->objects[obj->kind]++;
		state->users += (int)obj->users;
	}
}

static int count_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

struct fuzz_state fuzz_count(void)
{
	const struct verbs_end *ends[] = { &fuzz_a, &fuzz_b };
	struct fuzz_state state = { .files = count_files() };
	const struct vb_context *context;

	_Static_assert(VB_KINDS <= sizeof(state.objects) / sizeof(int), "a place for each");
	for (int i = 0; i < 2; i++)
		LIST_FOREACH(context, &vb_context_of(ends[i]->context)->adapter->contexts, link)
	count_context(context, &state);
	return state;
}

void fuzz_message(void)
{
	verbs_exchange(&fuzz_a, &fuzz_b);
}
