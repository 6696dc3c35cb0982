/* SPDX-License-Identifier: BSD-3-Clause */
/* path.c - choose the variant of the calls of every message; see path.h and doc/paths.md. */
#include <assert.h>
#include <string.h>

#include "backend.h"
#include "front.h"
#include "path.h"

static bool is_traced(const struct backend *b)
{
	return b->world && b->kind->control(b->world)->tracing;
}

enum path path_choose(const struct backend *b)
{
	for (int i = 0; i < PATH_BLOCKS; i++)
		if (b->blocks[i] > 0)
			return PATH_CAREFUL;
	if (b->module)
		return b->bias.ended ? PATH_CAREFUL : PATH_HARDWARE;
	if (b->quick)
		return PATH_SHARED;
	return is_traced(b) ? PATH_TRACED : PATH_PRIVATE;
}

void path_update(struct backend *b)
{
	for (int i = 0; i < HOST_FRONTS; i++)
		if (b->fronts[i])
			b->fronts[i]->ops->use_path(b->fronts[i], path_choose(b));
}

void path_changed(struct backend *b)
{
	if (b->module || b->quick || __libc_single_threaded)
		path_update(b);
}

void path_block(struct backend *b, enum path_block reason, int more)
{
	b->blocks[reason] += more;
	assert(b->blocks[reason] >= 0);
	path_changed(b);
}

void path_forget(struct backend *b)
{
	memset(b->blocks, 0, sizeof(b->blocks));
	path_update(b);
}
