/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * librdmacm.c - what librdmacm.so.1 uses of this library, beside the calls that every program has.
 *
 * The two are one front, in one world: ids, listeners and connections are objects of this library's
 * contexts, under its lock. libibverbs.map exports what is needed for that under a private version,
 * whose name changes whenever a struct of vb.h does, for both libraries come from one build.
 */
#include "vb.h"

const struct vb_cm_ops *vb_cm;

int vb_cm_begin(const struct vb_cm_ops *ops, struct backend **b)
{
	if (__atomic_load_n(&vb_cm, __ATOMIC_RELAXED) != ops)
		__atomic_store_n(&vb_cm, ops, __ATOMIC_RELAXED); /* another thread may read it */
	return vb_chosen(b);
}

void vb_cm_enter(struct backend *b)
{
	backend_enter(b);
}

void vb_cm_leave(struct backend *b)
{
	backend_leave(b);
}
