/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent.h"
#include "api.h"
#include "backend_hw.h"
#include "module.h"
#include "say.h"

struct backend backend_hw = BACKEND_INITIALIZER(backend_hw);
/* The module is loaded once, by whoever is first; nothing of a backend is held meanwhile. */
static pthread_mutex_t load = PTHREAD_MUTEX_INITIALIZER;

void backend_hw_forget(void)
{
	pthread_mutex_init(&load, NULL);
}

static void module_lock(void)
{
	pthread_mutex_lock(&backend_hw.lock);
	bias_backend_locked(&backend_hw.bias);
}

/* As at the end of a call: what the module's upcalls made due is done. */
static void module_unlock(void)
{
	if (!TAILQ_EMPTY(&backend_hw.calls_due))
		agents_run(&backend_hw);
	bias_backend_unlocking(&backend_hw.bias);
	pthread_mutex_unlock(&backend_hw.lock);
}

/* There a program of one thread is one of several threads: see bias.h. */
static void make_quick(struct backend *b)
{
	b->provider.evd_dequeue_func = dat__evd_dequeue_biased;
	b->provider.ep_post_send_func = dat__ep_post_send_biased;
	b->provider.ep_post_recv_func = dat__ep_post_recv_biased;
}

bool backend_hw_start(void)
{
	static const struct nic_host host = {
		.size = sizeof(host),
		.ops_size = sizeof(struct nic_ops),
		.lock = module_lock,
		.unlock = module_unlock,
		.monotonic_ns = backend_monotonic_ns,
		.say = say,
	};
	const struct nic_backend *kind;
	bool good;

	pthread_mutex_lock(&load);
	kind = backend_hw.kind ? backend_hw.kind : module_load("DAT_PROVIDER=hw", &host);
	if (kind && !backend_hw.kind) {
		backend_init(&backend_hw, kind);
		make_quick(&backend_hw);
	}
	bias_start(&backend_hw.bias);
	good = kind && (!kind->start || kind->start() == 0);
	pthread_mutex_unlock(&load);
	return good;
}
