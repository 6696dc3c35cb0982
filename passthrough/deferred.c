/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The destroy queue. The kernel keeps an id whose connection request the peer has not answered, and
 * its QP, until the peer answers or the request times out (ten seconds on iWARP); a call that
 * destroys one blocks so long. A thread of its own makes these calls, without the lock and in the
 * order of the queue: CQs, SRQs and PDs follow the QPs that use them.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "host/nic_process.h"

STAILQ_HEAD(deferred_queue, hw_deferred);

/*
 * The first entry is being destroyed and stays in the queue meanwhile: empty means that all is
 * done.
 */
static struct {
	pthread_mutex_t lock;
	struct deferred_queue queue;
	bool running, fork_seen;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER, .queue = STAILQ_HEAD_INITIALIZER(process.queue) };

static struct hw_deferred *deferred_next(bool after_one)
{
	struct hw_deferred *deferred;

	pthread_mutex_lock(&process.lock);
	if (after_one)
		STAILQ_REMOVE_HEAD(&process.queue, link);
	deferred = STAILQ_FIRST(&process.queue);
	process.running = deferred != NULL;
	pthread_mutex_unlock(&process.lock);
	return deferred;
}

/*
 * The memory is freed with the lock held, because the event thread may be handling an event of the
 * object. Until then the object is in the queue for all that hold the lock, so that what it uses
 * stays, too.
 */
static struct hw_deferred *deferred_release(struct hw_deferred *deferred)
{
	struct hw_deferred *next;

	hw_host->lock();
	next = deferred_next(true);
	deferred->release(deferred);
	hw_host->unlock();
	return next;
}

static void *deferred_run(void *arg)
{
	struct hw_deferred *deferred = deferred_next(false);

	(void)arg;
	pthread_setname_np(pthread_self(), PROCESS_HW_END);
	while (deferred) {
		deferred->destroy(deferred);
		deferred = deferred_release(deferred);
	}
	return NULL;
}

static void forget_in_child(void)
{
	pthread_mutex_init(&process.lock, NULL);
	STAILQ_INIT(&process.queue);
	process.running = false;
}

static bool deferred_start(void)
{
	sigset_t all, before;
	pthread_t thread;
	int err;

	if (!process.fork_seen)
		pthread_atfork(NULL, NULL, forget_in_child);
	process.fork_seen = true;
	/* Signals are for the program's own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, deferred_run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		pthread_detach(thread);
	return !err;
}

bool hw_deferred_pending(void)
{
	bool open;

	pthread_mutex_lock(&process.lock);
	open = !STAILQ_EMPTY(&process.queue);
	pthread_mutex_unlock(&process.lock);
	return open;
}

void hw_defer(struct hw_deferred *deferred)
{
	bool there;

	pthread_mutex_lock(&process.lock);
	STAILQ_INSERT_TAIL(&process.queue, deferred, link);
	there = process.running;
	process.running = true;
	pthread_mutex_unlock(&process.lock);
	if (there || deferred_start())
		return;
	/* No thread can be started: the caller waits. */
	deferred->destroy(deferred);
	(void)deferred_next(true);
	deferred->release(deferred);
}

/* ---- CQs, SRQs, PDs and the world ---- */

void hw_destroy_after(struct hw_deferred *deferred)
{
	if (hw_deferred_pending()) {
		hw_defer(deferred);
		return;
	}
	deferred->destroy(deferred);
	deferred->release(deferred);
}

/* ---- ids and QPs ---- */

struct deferred_qp {
	struct hw_deferred deferred;
	struct rdma_cm_id *id;
	struct ibv_qp *verbs;
	struct hw_cq *recv_cq;
	struct hw_qp qp; /* late completions and events find this one */
};

static void deferred_qp_destroy(struct hw_deferred *deferred)
{
	struct deferred_qp *entry = nic_container_of(deferred, struct deferred_qp, deferred);

	if (entry->id)
		rdma_destroy_id(entry->id);
	if (entry->verbs)
		ibv_destroy_qp(entry->verbs);
}

/* Some devices (rxe) leave the flushes of a destroyed QP in its CQ: they name its entries. */
static void deferred_qp_release(struct hw_deferred *deferred)
{
	struct deferred_qp *entry = nic_container_of(deferred, struct deferred_qp, deferred);

	if (entry->recv_cq && !entry->recv_cq->destroyed)
		hw_cq_fill(entry->recv_cq);
	free(entry->qp.rq.wqe);
	free(entry);
}

static struct deferred_qp *deferred_qp_new(void)
{
	struct deferred_qp *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->deferred.destroy = deferred_qp_destroy;
	entry->deferred.release = deferred_qp_release;
	entry->qp.state = HW_QP_ENDED;
	entry->qp.discard = true;
	entry->qp.soft = entry->qp.hard = NIC_LIMIT_NONE;
	return entry;
}

bool hw_defer_id(struct rdma_cm_id *id)
{
	struct deferred_qp *entry = deferred_qp_new();

	if (!entry)
		return false;
	id->context = NULL;
	entry->id = id;
	hw_defer(&entry->deferred);
	return true;
}

/*
 * The QP was never connected, so it has sent nothing. The device knows its Receives by the
 * addresses of their work queue entries: these go to the destroy queue, and the QP continues with a
 * copy.
 */
bool hw_defer_qp(struct hw_qp *qp)
{
	size_t size = (size_t)hw_wq_entries(&qp->rq) * sizeof(*qp->rq.wqe);
	struct hw_wqe *wqes = aligned_alloc(sizeof(*wqes), size);
	struct deferred_qp *entry = deferred_qp_new();

	if (!entry || !wqes) {
		free(entry);
		free(wqes);
		return false;
	}
	memcpy(wqes, qp->rq.wqe, size);
	entry->qp.rq = qp->rq;
	qp->rq.wqe = wqes;
	for (uint32_t i = 0; i < hw_wq_entries(&qp->rq); i++) {
		entry->qp.rq.wqe[i].qp = &entry->qp.base;
		entry->qp.rq.wqe[i].kind = HW_WQE_GENERAL;
	}
	entry->recv_cq = hw_cq_of(qp, qp->init.recv_cq);
	entry->verbs = qp->verbs;
	entry->verbs->qp_context = &entry->qp;
	hw_defer(&entry->deferred);
	return true;
}

void hw_cm_drop(struct hw_cm *cm)
{
	if (!cm->id)
		return;
	cm->id->qp = NULL;
	rdma_destroy_id(cm->id);
	cm->id = NULL;
}

void hw_cm_drop_qp(struct hw_qp *qp)
{
	if (qp->cm.id && qp->hung_up && hw_part(qp))
		return;
	if (!qp->cm.id || !qp->unanswered) {
		hw_cm_drop(&qp->cm);
		return;
	}
	qp->cm.id->qp = NULL;
	if (hw_defer_id(qp->cm.id))
		qp->cm.id = NULL;
	else
		hw_cm_drop(&qp->cm);
}
