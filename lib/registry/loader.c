/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loader.c - dlopen a provider library, call its dat_provider_init for a name, and its
 * dat_provider_fini when the last IA of that name is closed.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader.h"
#include "host/backend.h"
#include "host/nic_process.h"
#include "host/say.h"

/* A library that was loaded; it stays loaded as long as the process lives. */
struct library {
	TAILQ_ENTRY(library) link;
	char *path;
	DAT_PROVIDER_INIT_FUNC init;
	DAT_PROVIDER_FINI_FUNC fini; /* may be NULL */
};

/*
 * The names whose init is running, innermost first. An init that opens its own name must not
 * recurse: that open fails.
 */
struct starting {
	const char *name;
	struct starting *outer;
};

static struct {
	pthread_mutex_t lock;
	TAILQ_HEAD(, library) libraries;
	struct starting *starting;
	unsigned int depth; /* of the lock */
	int cancel;         /* the owner's state before it had the lock */
} loader = {
	.lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
	.libraries = TAILQ_HEAD_INITIALIZER(loader.libraries),
};

static void __attribute__((constructor)) loader_begin(void)
{
	backend_fork_lock(FORK_LOCK_LOADER, &loader.lock);
}

void loader_lock(void)
{
	int cancel = process_cancel_hold();

	pthread_mutex_lock(&loader.lock);
	if (loader.depth++ == 0)
		loader.cancel = cancel;
}

void loader_unlock(void)
{
	int cancel = loader.cancel;
	bool last = --loader.depth == 0;

	pthread_mutex_unlock(&loader.lock);
	if (last)
		process_cancel_release(cancel);
}

/* ISO C has no conversion from dlsym's object pointer to a function pointer; callers use memcpy. */
static void *library_symbol(void *dl, const char *name)
{
	return dlsym(dl, name);
}

static struct library *library_load(const char *path, const char **problem)
{
	struct library *library = calloc(1, sizeof(*library));
	void *dl, *init, *fini;

	*problem = "out of memory";
	if (!library)
		return NULL;
	library->path = strdup(path);
	if (!library->path)
		goto free_library;
	dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	*problem = dl ? NULL : dlerror();
	if (!dl)
		goto free_library;
	init = library_symbol(dl, DAT_PROVIDER_INIT_FUNC_STR);
	fini = library_symbol(dl, DAT_PROVIDER_FINI_FUNC_STR);
	*problem = "it has no function " DAT_PROVIDER_INIT_FUNC_STR;
	if (!init)
		goto close_dl;
	memcpy(&library->init, &init, sizeof(init));
	memcpy(&library->fini, &fini, sizeof(fini));
	TAILQ_INSERT_TAIL(&loader.libraries, library, link);
	return library;

close_dl:
	dlclose(dl);
free_library:
	free(library->path);
	free(library);
	return NULL;
}

static struct library *library_get(const char *path, const char **problem)
{
	struct library *library;

	TAILQ_FOREACH(library, &loader.libraries, link)
		if (strcmp(library->path, path) == 0)
			return library;
	return library_load(path, problem);
}

static bool is_starting(const char *name)
{
	const struct starting *s;

	for (s = loader.starting; s; s = s->outer)
		if (strcmp(s->name, name) == 0)
			return true;
	return false;
}

/*
 * A copy of a line of the dat.conf: while the library's init runs, the dat.conf may be read again.
 */
struct job {
	DAT_PROVIDER_INFO info;
	char *place, *path, *data;
};

static bool job_init(struct job *job, const struct dat_conf *conf,
		     const struct dat_conf_entry *line)
{
	*job = (struct job){ .info = line->info,
			     .path = strdup(line->library),
			     .data = strdup(line->instance_data) };
	if (asprintf(&job->place, "%s:%u", conf->path, line->line) < 0)
		job->place = NULL;
	return job->place && job->path && job->data;
}

static void job_fini(struct job *job)
{
	free(job->place);
	free(job->path);
	free(job->data);
}

static bool job_run(struct job *job)
{
	struct starting starting = { .name = job->info.ia_name, .outer = loader.starting };
	const char *problem = "its init opens the adapter it is to register";
	struct library *library = NULL;

	if (!is_starting(job->info.ia_name))
		library = library_get(job->path, &problem);
	if (!library) {
		say("%s: provider library %s of adapter %s cannot be used: %s", job->place,
		    job->path, job->info.ia_name, problem);
		return false;
	}
	loader.starting = &starting;
	library->init(&job->info, job->data);
	loader.starting = starting.outer;
	if (registry_mark_loaded(&job->info, library->fini))
		return true;
	say("%s: provider library %s was loaded, but did not register adapter %s; its %s has to "
	    "call dat_registry_add_provider",
	    job->place, job->path, job->info.ia_name, DAT_PROVIDER_INIT_FUNC_STR);
	return false;
}

bool loader_start(const struct dat_conf *conf, const struct dat_conf_entry *line)
{
	struct job job;
	bool good = job_init(&job, conf, line) && job_run(&job);

	job_fini(&job);
	return good;
}

void loader_finish(const char *name)
{
	DAT_PROVIDER_FINI_FUNC fini;
	DAT_PROVIDER_INFO info;

	loader_lock();
	if (registry_begin_leaving(name, &fini, &info)) {
		if (fini)
			fini(&info);
		if (registry_end_leaving(info.ia_name) && fini)
			say("the provider of adapter %s left it registered; its %s has to call "
			    "dat_registry_remove_provider",
			    info.ia_name, DAT_PROVIDER_FINI_FUNC_STR);
	}
	loader_unlock();
}
