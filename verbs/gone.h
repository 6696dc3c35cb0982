/* SPDX-License-Identifier: BSD-3-Clause */
/* gone.h - objects that the program has destroyed, and may still name by mistake. */
#ifndef VERBS_GONE_H
#define VERBS_GONE_H

#include "vb.h"

/* The object whose context this is was destroyed, or the context itself was closed. */
static inline bool vb_is_closed(struct ibv_context *ibv)
{
	return !vb_context_of(ibv)->nic;
}

/* The same, or it is one of the parent of this process. */
static inline bool vb_is_gone(struct ibv_context *ibv)
{
	return vb_is_closed(ibv) || vb_context_of(ibv)->inherited;
}

/* Takes the memory of an object that ends; `context` is a field of it. With any lock, or none. */
void vb_gone(void *object, struct ibv_context **context);
void vb_gone_context(struct vb_context *context);
/* The object is gone, and its memory is the caller's. */
void vb_gone_alone(struct ibv_context **context);
/* In a forked child: the contexts of its parent there are inherited. */
void vb_gone_in_child(struct vb_adapter *adapter);

/*
 * A thread waits in a context, and perhaps in a channel of it (else NULL), without the lock;
 * another one may close them meanwhile. The lock is held in these calls, and they do not read
 * memory that may be gone.
 */
struct vb_stay {
	struct backend *b;
	const struct vb_context *context;
	const struct vb_obj *channel;
	uint64_t serial;
	uint32_t id;
	unsigned int ended; /* objects, before the wait */
};

struct vb_stay vb_stay_in(const struct vb_context *context, const struct vb_obj *channel);
/* After a wait. *closed: it is the context that is gone. */
bool vb_stays(struct vb_stay *stay, bool *closed);
/* Nothing comes any more, as in a read from a descriptor that another thread has closed. */
void vb_sleep_forever(struct backend *b) __attribute__((noreturn));

/*
 * Wait until the program has acknowledged all events of an object that it was given. The lock is
 * held when this returns, and released meanwhile: another thread may take more of them.
 */
void vb_async_wait(struct vb_context *context, pthread_mutex_t *mutex, pthread_cond_t *cond,
		   const uint32_t *completed, const uint32_t *given);

#endif
