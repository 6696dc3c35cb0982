/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * behaves HOW - a program for datsim explore: it misbehaves in the way HOW if a schedule has set
 * DATSIM_LATENCY_NS, and ends well otherwise. HOW "silent": it sends nothing; "sim": it makes its
 * fabric before it opens an adapter; "settings": it has a timer, and handlers of signals.
 */
#undef NDEBUG
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <dat/sim.h>
#include <dat/udat.h>

static DAT_EVD_HANDLE async;

static pthread_mutex_t at_work = PTHREAD_MUTEX_INITIALIZER;

static void *stand_by(void *arg)
{
	pthread_mutex_lock(&at_work);
	pthread_mutex_unlock(&at_work);
	return arg;
}

/* No child of this program is forked by it, and SIGUSR1 only interrupts. */
static void on_child(int sig)
{
	(void)sig;
	_exit(9);
}

static void on_user(int sig)
{
	(void)sig;
}

static const struct itimerval hour = { .it_value = { .tv_sec = 3600 } };

static void make_settings(void)
{
	const struct sigaction child = { .sa_handler = on_child }, user = { .sa_handler = on_user };

	sigaction(SIGCHLD, &child, NULL);
	sigaction(SIGUSR1, &user, NULL);
	setitimer(ITIMER_REAL, &hour, NULL);
}

/* A run has them, and a process group of its own. */
static int has_settings(void)
{
	struct itimerval left;
	struct sigaction child;

	return getitimer(ITIMER_REAL, &left) == 0 && left.it_value.tv_sec > 3000 &&
	       left.it_value.tv_sec <= 3600 && sigaction(SIGCHLD, NULL, &child) == 0 &&
	       child.sa_handler == on_child && getpgrp() == getpid();
}

/* Ask oneself for a connection, which is refused: packets for faults to act on. */
static int speak(DAT_IA_HANDLE ia)
{
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_IA_ATTR attr;
	DAT_EVENT event;
	DAT_COUNT more;

	if (dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, DAT_PROVIDER_FIELD_NONE,
			 NULL) != DAT_SUCCESS ||
	    dat_pz_create(ia, &pz) != DAT_SUCCESS ||
	    dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &evd) != DAT_SUCCESS ||
	    dat_ep_create(ia, pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, evd, NULL, &ep) !=
		    DAT_SUCCESS ||
	    dat_ep_connect(ep, attr.ia_address_ptr, 7, DAT_TIMEOUT_INFINITE, 0, NULL,
			   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG) != DAT_SUCCESS ||
	    dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more) != DAT_SUCCESS ||
	    dat_ep_free(ep) != DAT_SUCCESS || dat_evd_free(evd) != DAT_SUCCESS ||
	    dat_pz_free(pz) != DAT_SUCCESS)
		return 8;
	return 0;
}

/* Called while the adapter is open. */
static int misbehave(const char *how)
{
	DAT_EVENT event;
	DAT_COUNT more;

	if (!strcmp(how, "leave"))
		exit(0);
	if (!strcmp(how, "crash"))
		abort();
	if (!strcmp(how, "assert"))
		assert(!"the latency is that of a schedule");
	if (!strcmp(how, "refuse"))
		dat_evd_resize(async, 0);
	if (!strcmp(how, "wait"))
		dat_evd_wait(async, DAT_TIMEOUT_INFINITE, 1, &event, &more);
	while (!strcmp(how, "spin"))
		dat_evd_dequeue(async, &event);
	if (!strcmp(how, "sleep"))
		pause();
	return strcmp(how, "fail") ? 0 : 7;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	DAT_SIM_HANDLE sim = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	pthread_t thread;
	char byte;
	int code = 0;

	pthread_mutex_lock(&at_work);
	if (!strcmp(how, "threads") && pthread_create(&thread, NULL, stand_by, NULL))
		return 2;
	if (!strcmp(how, "settings"))
		make_settings();
	if (!strcmp(how, "sim") && dat_sim_create(NULL, &sim) != DAT_SUCCESS)
		return 3;
	async = DAT_HANDLE_NULL;
	if (dat_ia_open((DAT_NAME_PTR) "emu0", 8, &async, &ia) != DAT_SUCCESS)
		return 3;
	if (!strcmp(how, "settings") && !has_settings())
		return 10;
	/* Forked runs share the file's offset, so only the first one finds the byte. */
	if (!strcmp(how, "read") && read(argc > 2 ? atoi(argv[2]) : 9, &byte, 1) != 1)
		return 4;
	if (strcmp(how, "silent") != 0)
		code = speak(ia);
	if (!code && getenv("DATSIM_LATENCY_NS"))
		code = misbehave(how);
	if (dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS)
		return 5;
	if (sim != DAT_HANDLE_NULL && dat_sim_destroy(sim) != DAT_SUCCESS)
		return 5;
	pthread_mutex_unlock(&at_work);
	if (!strcmp(how, "threads"))
		pthread_join(thread, NULL);
	/* A schedule must set only variables that are settings. */
	return getenv("PLANTED_BY_SCHEDULE") ? 6 : code;
}
