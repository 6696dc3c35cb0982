/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits for the turn when a call begins and gives it up when it ends; tells the backend when a
 * thread that took turns exits.
 */
#include "turn.h"

#include <stdlib.h>

#include "helper.h"

/*
 * Thread-specific: the backend in whose world the thread takes turns. Its destructor tells the
 * backend.
 */
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
/* The same again, which costs a load to ask for. */
static __thread struct backend *remembered __attribute__((tls_model("initial-exec")));

/* The thread is the program's last one, and its other destructors run before turn_ends_last. */
static __thread bool is_last __attribute__((tls_model("initial-exec")));

/*
 * The process ends with its last thread, as glibc would do it if the libraries had no threads. The
 * thread still has the turn, so that the end has its place in the order of all processes' actions.
 */
static void turn_ends_last(struct backend *b)
{
	if (!is_last) {
		is_last = true;
		pthread_setspecific(key, b);
		return;
	}
	exit(0);
}

static void turn_thread_ends(void *backend)
{
	struct backend *b = backend;
	bool shared, lowest;

	pthread_mutex_lock(&b->lock);
	shared = b->shared != NULL;
	pthread_mutex_unlock(&b->lock);
	if (shared && helper_leaves_alone(&lowest) > 0) {
		turn_ends_last(b);
		return;
	}
	remembered = NULL;
	pthread_mutex_lock(&b->lock);
	if (b->shared)
		b->kind->thread_ends(b->shared);
	pthread_mutex_unlock(&b->lock);
	/*
	 * libdat-turns.so knows the library's calls by the place that they return to, so that must
	 * not be this function's caller: the thread would take part again.
	 */
	__asm__ volatile("");
}

static void make_key(void)
{
	pthread_key_create(&key, turn_thread_ends);
}

/* Have turn_thread_ends called when the calling thread exits. */
static void remember_thread(struct backend *b)
{
	if (remembered == b)
		return;
	pthread_once(&key_once, make_key);
	if (pthread_setspecific(key, b) == 0)
		remembered = b;
}

void turn_enter(struct backend *b)
{
	bool idle = helper_is_this();

	if (!idle && b->kind->lockstep(b->shared))
		remember_thread(b);
	while (b->shared && !b->kind->enter(b->shared, idle)) {
		struct nic_world *world = b->shared;

		pthread_mutex_unlock(&b->lock);
		b->kind->await(world);
		pthread_mutex_lock(&b->lock);
	}
}

void turn_settle(struct backend *b)
{
	while (b->shared && !b->kind->settle(b->shared)) {
		backend_release(b);
		backend_lock(b);
	}
}
