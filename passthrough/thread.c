/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event thread: one per process, from the first use of the backend to the end of the process.
 * It runs a libev loop, and holds the lock except while it sleeps (libev's release and acquire
 * callbacks). So its callbacks run with the lock held, and any thread that holds the lock may start
 * and stop watchers.
 */
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>

#include "hw.h"
#include "host/nic_process.h"

static struct {
	struct ev_loop *loop;
	ev_async kick;
	sem_t asleep; /* posted once, as the thread first sleeps */
	bool slept;
	bool running;
	bool fork_seen;
} process;

static void thread_unlock(struct ev_loop *loop) EV_NOEXCEPT
{
	(void)loop;
	hw_host->unlock();
	if (!process.slept)
		sem_post(&process.asleep);
	process.slept = true;
}

static void thread_lock(struct ev_loop *loop) EV_NOEXCEPT
{
	(void)loop;
	hw_host->lock();
}

static void thread_on_wake(struct ev_loop *loop, ev_async *watch, int events)
{
	(void)loop;
	(void)watch;
	(void)events;
}

static void *thread_run(void *arg)
{
	pthread_setname_np(pthread_self(), PROCESS_HW);
	hw_host->lock();
	ev_run(arg, 0);
	return NULL;
}

/* The child has no event thread, and no object of the parent's. */
static void forget_in_child(void)
{
	process.running = false;
	process.loop = NULL;
	hw_world = NULL;
}

int hw_thread_start(void)
{
	sigset_t all, before;
	pthread_t thread;
	int err;

	if (process.running)
		return 0;
	if (!process.fork_seen)
		pthread_atfork(NULL, NULL, forget_in_child);
	process.fork_seen = true;
	process.loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
	if (!process.loop) {
		hw_host->say("DAT_PROVIDER=hw: no event loop can be created: out of memory or file "
			     "descriptors (ulimit -n)");
		return -ENOMEM;
	}
	ev_async_init(&process.kick, thread_on_wake);
	ev_async_start(process.loop, &process.kick);
	ev_set_loop_release_cb(process.loop, thread_unlock, thread_lock);
	process.slept = false;
	sem_init(&process.asleep, 0, 0);
	/* Signals are for the program's own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, thread_run, process.loop);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		ev_loop_destroy(process.loop);
		hw_host->say("DAT_PROVIDER=hw: the thread for events cannot be started: %s (see "
			     "ulimit -u)",
			     strerror(err));
		return -err;
	}
	pthread_detach(thread);
	/* Once it sleeps, only events wake it. So in lockstep it starts alike in each run. */
	while (sem_wait(&process.asleep) && errno == EINTR)
		;
	process.running = true;
	return 0;
}

void hw_thread_wake(void)
{
	ev_async_send(process.loop, &process.kick);
}

void hw_watch(ev_io *watch)
{
	if (ev_is_active(watch))
		return;
	ev_io_start(process.loop, watch);
	hw_thread_wake();
}

/* If the loop is asleep, an event of the descriptor may still end that, and finds no watcher. */
void hw_unwatch(ev_io *watch)
{
	ev_io_stop(process.loop, watch);
}

/* libev's time is that of the loop's last wakeup, and may be old. */
void hw_timer(ev_timer *timer, uint64_t after_ns, uint64_t every_ns)
{
	ev_timer_stop(process.loop, timer);
	ev_now_update(process.loop);
	ev_timer_set(timer, (double)after_ns * 1e-9, (double)every_ns * 1e-9);
	ev_timer_start(process.loop, timer);
	hw_thread_wake();
}

void hw_timer_stop(ev_timer *timer)
{
	ev_timer_stop(process.loop, timer);
}
