/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What may take its time to be destroyed. An id whose question the peer has not answered is kept by the kernel
 * until the answer, or until it gives the peer up (on iWARP ten seconds), and so is its QP; who destroys one
 * waits. That is a thread of its own, without the lock, in the order of burying: what a QP stands on follows it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"

STAILQ_HEAD(graves, hw_grave);

/* The first on the list is being destroyed, so that the list is empty only if nothing is left. */
static struct {
	pthread_mutex_t lock;
	struct graves graves;
	bool running, fork_seen;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER,
	      .graves = STAILQ_HEAD_INITIALIZER(process.graves) };

static struct hw_grave *first(bool after_one)
{
	struct hw_grave *grave;

	pthread_mutex_lock(&process.lock);
	if (after_one)
		STAILQ_REMOVE_HEAD(&process.graves, link);
	grave = STAILQ_FIRST(&process.graves);
	process.running = grave != NULL;
	pthread_mutex_unlock(&process.lock);
	return grave;
}

/* Memory goes under the lock, for an event of it may just be looked at. */
static void release(struct hw_grave *grave)
{
	hw_host->lock();
	grave->release(grave);
	hw_host->unlock();
}

static void *run(void *arg)
{
	struct hw_grave *grave = first(false), *next;

	(void)arg;
	pthread_setname_np(pthread_self(), "libdat-hw-end");
	for (; grave; grave = next) {
		grave->destroy(grave);
		next = first(true);
		release(grave);
	}
	return NULL;
}

static void forget_in_child(void)
{
	pthread_mutex_init(&process.lock, NULL);
	STAILQ_INIT(&process.graves);
	process.running = false;
}

static bool start(void)
{
	sigset_t all, before;
	pthread_t thread;
	int err;

	if (!process.fork_seen)
		pthread_atfork(NULL, NULL, forget_in_child);
	process.fork_seen = true;
	/* The program's signals are for the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		pthread_detach(thread);
	return !err;
}

bool hw_graves_open(void)
{
	bool open;

	pthread_mutex_lock(&process.lock);
	open = !STAILQ_EMPTY(&process.graves);
	pthread_mutex_unlock(&process.lock);
	return open;
}

void hw_bury(struct hw_grave *grave)
{
	bool there;

	pthread_mutex_lock(&process.lock);
	STAILQ_INSERT_TAIL(&process.graves, grave, link);
	there = process.running;
	process.running = true;
	pthread_mutex_unlock(&process.lock);
	if (there || start())
		return;
	/* No thread is to be had: then it takes its time here. */
	grave->destroy(grave);
	(void)first(true);
	grave->release(grave);
}

/* ---- what stands on nothing that waits ---- */

void hw_bury_after(struct hw_grave *grave)
{
	if (hw_graves_open()) {
		hw_bury(grave);
		return;
	}
	grave->destroy(grave);
	grave->release(grave);
}

/* ---- ids and QPs ---- */

struct tomb {
	struct hw_grave grave;
	struct rdma_cm_id *id;
	struct ibv_qp *verbs;
	struct hw_qp qp; /* whom late completions and events find in place of the one that was */
};

static void destroy_tomb(struct hw_grave *grave)
{
	struct tomb *tomb = nic_container_of(grave, struct tomb, grave);

	if (tomb->id)
		rdma_destroy_id(tomb->id);
	if (tomb->verbs)
		ibv_destroy_qp(tomb->verbs);
}

static void release_tomb(struct hw_grave *grave)
{
	struct tomb *tomb = nic_container_of(grave, struct tomb, grave);

	free(tomb->qp.quick.rq.slot);
	free(tomb);
}

static struct tomb *new_tomb(void)
{
	struct tomb *tomb = calloc(1, sizeof(*tomb));

	if (!tomb)
		return NULL;
	tomb->grave.destroy = destroy_tomb;
	tomb->grave.release = release_tomb;
	tomb->qp.state = HW_QP_ENDED;
	tomb->qp.discard = true;
	tomb->qp.soft = tomb->qp.hard = NIC_LIMIT_NONE;
	return tomb;
}

bool hw_bury_id(struct rdma_cm_id *id)
{
	struct tomb *tomb = new_tomb();

	if (!tomb)
		return false;
	id->context = NULL;
	tomb->id = id;
	hw_bury(&tomb->grave);
	return true;
}

/*
 * It never was connected, so that it has sent nothing. The device knows its receives by their slots, which the
 * tomb keeps; the QP goes on with a copy.
 */
bool hw_bury_verbs(struct hw_qp *qp)
{
	size_t size = ((size_t)qp->quick.rq.mask + 1) * sizeof(*qp->quick.rq.slot);
	struct nic_slot *slots = aligned_alloc(sizeof(*slots), size);
	struct tomb *tomb = new_tomb();

	if (!tomb || !slots) {
		free(tomb);
		free(slots);
		return false;
	}
	memcpy(slots, qp->quick.rq.slot, size);
	tomb->qp.quick.rq = qp->quick.rq;
	qp->quick.rq.slot = slots;
	for (uint32_t i = 0; i <= qp->quick.rq.mask; i++) {
		tomb->qp.quick.rq.slot[i].qp = &tomb->qp.base;
		tomb->qp.quick.rq.slot[i].kind = NIC_SLOT_UNUSUAL;
	}
	tomb->verbs = qp->verbs;
	tomb->verbs->qp_context = &tomb->qp;
	hw_bury(&tomb->grave);
	return true;
}
