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
	struct ibv_wc wc;

	ck_assert_int_eq(verbs_recv(&fuzz_b, 7, 1024, 64), 0);
	ck_assert_int_eq(verbs_send(&fuzz_a, &fuzz_b, IBV_WR_SEND, 64, 0), 0);
	ck_assert(verbs_poll(&fuzz_b, &wc));
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
	ck_assert(verbs_poll(&fuzz_a, &wc));
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
}
