/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backend_hw.c - the backend instance "hw": load its module, and take its biased lock for the
 * module's thread.
 */
#include <errno.h>

#include "backend_hw.h"
#include "module.h"
#include "nic_process.h"
#include "say.h"

struct backend backend_hw = BACKEND_INITIALIZER(backend_hw);
/* Held while the module is loaded, once; no lock of a backend is held meanwhile. */
static pthread_mutex_t load = PTHREAD_MUTEX_INITIALIZER;

static void __attribute__((constructor)) load_begin(void)
{
	backend_fork_lock(FORK_LOCK_MODULE, &load);
}

static void module_lock(void)
{
	pthread_mutex_lock(&backend_hw.lock);
	bias_backend_locked(&backend_hw.bias);
}

/* As at the end of a call: run the agents that the module's upcalls made due. */
static void module_unlock(void)
{
	if (!TAILQ_EMPTY(&backend_hw.calls_due))
		agents_run(&backend_hw);
	bias_backend_unlocking(&backend_hw.bias);
	pthread_mutex_unlock(&backend_hw.lock);
}

int backend_hw_start(const struct front_ops *ops)
{
	static struct nic_host host = {
		.size = sizeof(host),
		.ops_size = sizeof(struct nic_ops),
		.upcalls_size = sizeof(struct nic_upcalls),
		.lock = module_lock,
		.unlock = module_unlock,
		.monotonic_ns = backend_monotonic_ns,
		.say = say,
		.inside = &bias_first.inside,
	};
	int cancel = process_cancel_hold();
	const struct nic_backend *kind;
	int err = -ENODEV;

	pthread_mutex_lock(&load);
	host.quick_size = *ops->quick_size;
	kind = backend_hw.kind ? backend_hw.kind : module_load("DAT_PROVIDER=hw", &host);
	if (kind && !backend_hw.kind) {
		backend_init(&backend_hw, kind);
		/*
		 * The module has a thread, so a program of one thread is a process of two: see
		 * bias.h.
		 */
		backend_hw.module = true;
		backend_hw.bias.by_first = true;
	}
	bias_start(&backend_hw.bias);
	if (kind)
		err = kind->start ? kind->start() : 0;
	pthread_mutex_unlock(&load);
	process_cancel_release(cancel);
	return err;
}
