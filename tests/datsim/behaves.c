/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * behaves HOW - a program for datsim explore: it misbehaves in the way HOW if a schedule has set
 * DATSIM_LATENCY_NS, and ends well otherwise.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat/udat.h>

static DAT_EVD_HANDLE async;

static pthread_mutex_t at_work = PTHREAD_MUTEX_INITIALIZER;

static void *stand_by(void *arg)
{
	pthread_mutex_lock(&at_work);
	pthread_mutex_unlock(&at_work);
	return arg;
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
	DAT_IA_HANDLE ia;
	pthread_t thread;
	char byte;
	int code = 0;

	pthread_mutex_lock(&at_work);
	if (!strcmp(how, "threads") && pthread_create(&thread, NULL, stand_by, NULL))
		return 2;
	async = DAT_HANDLE_NULL;
	if (dat_ia_open((DAT_NAME_PTR) "emu0", 8, &async, &ia) != DAT_SUCCESS)
		return 3;
	/* Forked runs share the file's offset, so only the first one finds the byte. */
	if (!strcmp(how, "read") && read(argc > 2 ? atoi(argv[2]) : 9, &byte, 1) != 1)
		return 4;
	if (getenv("DATSIM_LATENCY_NS"))
		code = misbehave(how);
	if (dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS)
		return 5;
	pthread_mutex_unlock(&at_work);
	if (!strcmp(how, "threads"))
		pthread_join(thread, NULL);
	/* A schedule must set only variables that are settings. */
	return getenv("PLANTED_BY_SCHEDULE") ? 6 : code;
}
