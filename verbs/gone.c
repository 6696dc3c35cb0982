/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gone.c - objects that the program has destroyed, and may still name by mistake; and what their
 * destruction waits for.
 *
 * The memory of the last few is kept, and their context is one without a device, so a second
 * destruction, a post or a poll answers EINVAL instead of following pointers into memory that is
 * used for something else. The kernel answers a stale handle so; libibverbs itself would crash. The
 * functions of verbs.h reach an object through the table of its context, so posts and polls of live
 * objects pay nothing.
 *
 * A forked child has none of its parent's objects, and gets that answer for all of them; it may ask
 * what devices are like.
 *
 * These functions have no lock: vb_gone may be called with any lock held, and after a fork.
 */
#include <stdlib.h>
#include <unistd.h>

#include "gone.h"

#define GONE_MOST 256

static int gone_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)cq;
	(void)n;
	(void)wc;
	errno = EINVAL;
	return -1;
}

static int gone_notify(struct ibv_cq *cq, int solicited_only)
{
	(void)cq;
	(void)solicited_only;
	return EINVAL;
}

static int gone_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	*bad = wr;
	return EINVAL;
}

static int gone_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	*bad = wr;
	return EINVAL;
}

static int gone_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)srq;
	*bad = wr;
	return EINVAL;
}

static struct ibv_mw *gone_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	(void)pd;
	(void)type;
	return vb_failed(-EINVAL);
}

static int gone_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	(void)qp;
	(void)mw;
	(void)bind;
	return EINVAL;
}

static int gone_dealloc_mw(struct ibv_mw *mw)
{
	(void)mw;
	return EINVAL;
}

/* Of all objects that are gone: it never changes. */
static struct vb_context nowhere = {
	.ex.context.ops = { ._compat_query_device = ibv_query_device,
			    ._compat_query_port = ibv_query_port,
			    .alloc_mw = gone_alloc_mw,
			    .bind_mw = gone_bind_mw,
			    .dealloc_mw = gone_dealloc_mw,
			    .poll_cq = gone_poll,
			    .req_notify_cq = gone_notify,
			    .post_srq_recv = gone_srq_recv,
			    .post_send = gone_send,
			    .post_recv = gone_recv },
};

static unsigned int ended; /* objects and contexts */

static void keep_memory(void *memory)
{
	static void *kept[GONE_MOST];
	unsigned int at = __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED) % GONE_MOST;

	free(__atomic_exchange_n(&kept[at], memory, __ATOMIC_ACQ_REL));
}

void vb_gone_alone(struct ibv_context **context)
{
	*context = &nowhere.ex.context;
}

void vb_gone(void *object, struct ibv_context **context)
{
	vb_gone_alone(context);
	keep_memory(object);
}

/* The context has no other table then. */
static void take_calls(struct vb_context *context)
{
	context->ex.context.ops = nowhere.ex.context.ops;
	context->ex.context.abi_compat = NULL;
}

void vb_gone_context(struct vb_context *context)
{
	context->nic = NULL;
	context->adapter = NULL;
	take_calls(context);
	keep_memory(context);
}

/* The calls of a batch are the QP's own. */
static void take_batches(struct vb_context *context)
{
	struct vb_obj *obj;

	TAILQ_FOREACH(obj, &context->objects, link)
		if (obj->kind == VB_QP)
			vb_qp_free_batch(nic_container_of(obj, struct vb_qp, obj));
}

/* Objects find their device through their context. */
void vb_gone_in_child(struct vb_adapter *adapter)
{
	struct vb_context *context;

	LIST_FOREACH(context, &adapter->contexts, link)
	{
		context->inherited = true;
		take_calls(context);
		take_batches(context);
	}
}

/* ---- threads that wait in what another one closes ---- */

static unsigned int ended_now(void)
{
	return __atomic_load_n(&ended, __ATOMIC_RELAXED);
}

struct vb_stay vb_stay_in(const struct vb_context *context, const struct vb_obj *channel)
{
	return (struct vb_stay){ .b = vb_backend(context),
				 .context = context,
				 .channel = channel,
				 .serial = context->serial,
				 .id = channel ? channel->id : 0,
				 .ended = ended_now() };
}

static bool is_open(const struct vb_stay *stay)
{
	struct vb_context *context;
	struct adapter *adapter;

	TAILQ_FOREACH(adapter, &stay->b->adapters, link)
		if (adapter->front->ops == &vb_front_ops)
			LIST_FOREACH(context, &((struct vb_adapter *)adapter)->contexts, link)
	if (context == stay->context)
		return context->serial == stay->serial;
	return false;
}

static bool has_channel(const struct vb_stay *stay)
{
	struct vb_obj *obj;

	TAILQ_FOREACH(obj, &stay->context->objects, link)
		if (obj == stay->channel)
			return obj->id == stay->id;
	return false;
}

bool vb_stays(struct vb_stay *stay, bool *closed)
{
	unsigned int now = ended_now();

	*closed = !is_open(stay);
	if (*closed || !stay->channel || now == stay->ended)
		return !*closed;
	stay->ended = now;
	return has_channel(stay);
}

void vb_sleep_forever(struct backend *b)
{
	backend_leave(b);
	for (;;)
		pause();
}

/* ---- events that were not acknowledged ---- */

static void unlock_cancelled(void *mutex)
{
	pthread_mutex_unlock(mutex);
}

/* Both numbers wrap. */
static void await_completed(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
			    uint32_t given)
{
	pthread_mutex_lock(mutex);
	pthread_cleanup_push(unlock_cancelled, mutex);
	while ((int32_t)(given - *completed) > 0)
		pthread_cond_wait(cond, mutex);
	pthread_cleanup_pop(1);
}

void vb_async_wait(struct vb_context *context, pthread_mutex_t *mutex, pthread_cond_t *cond,
		   const uint32_t *completed, const uint32_t *given)
{
	uint32_t awaited;

	do {
		awaited = *given;
		vb_leave(context);
		await_completed(mutex, cond, completed, awaited);
		vb_enter(&context->ex.context);
	} while (*given != awaited);
}
