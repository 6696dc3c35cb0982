/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * registry.c - the registry of providers: register and remove a name, list all names, and hold an
 * entry while an IA is open through it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <dat/sim.h>

#include "host/backend.h"
#include "loader.h"
#include "lib/object.h"

#define BUILT_IN_LISTED 64

/* The standard has one registry in each process. */
static struct {
	pthread_mutex_t lock;
	TAILQ_HEAD(, registry_entry) entries;
	TAILQ_HEAD(, registry_ia) ias;
	unsigned int opens; /* of all entries */
} registry = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.entries = TAILQ_HEAD_INITIALIZER(registry.entries),
	.ias = TAILQ_HEAD_INITIALIZER(registry.ias),
};

static void __attribute__((constructor)) registry_begin(void)
{
	backend_fork_lock(FORK_LOCK_REGISTRY, &registry.lock);
}

static struct registry_entry *registry_find(const char *name)
{
	struct registry_entry *entry;

	TAILQ_FOREACH(entry, &registry.entries, link)
		if (strcmp(entry->info.ia_name, name) == 0)
			break;
	return entry;
}

/* ---- handles of third parties ---- */

/* The word that a value points at, read by the kernel so that a wild pointer cannot fault. */
static bool read_word(DAT_HANDLE handle, DAT_PROVIDER **word)
{
	struct iovec local = { .iov_base = word, .iov_len = sizeof(*word) };
	struct iovec remote = { .iov_base = handle, .iov_len = sizeof(*word) };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof(*word);
}

static bool registry_any_open(void)
{
	return __atomic_load_n(&registry.opens, __ATOMIC_RELAXED) > 0;
}

DAT_PROVIDER *registry_foreign_provider(DAT_HANDLE handle)
{
	DAT_PROVIDER *word = NULL;
	struct registry_entry *entry;

	if (!registry_any_open() || !read_word(handle, &word))
		return NULL;
	pthread_mutex_lock(&registry.lock);
	TAILQ_FOREACH(entry, &registry.entries, link)
		if (entry->provider == word && entry->opens > 0)
			break;
	pthread_mutex_unlock(&registry.lock);
	return entry ? word : NULL;
}

/* ---- openings ---- */

DAT_RETURN registry_hold(const struct open_request *request, struct registry_entry **out)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct registry_entry *entry;

	*out = NULL;
	pthread_mutex_lock(&registry.lock);
	entry = registry_find(request->name);
	if (entry && !entry->leaving)
		ret = registry_fits(&entry->info, request);
	if (entry && !entry->leaving && ret == DAT_SUCCESS) {
		entry->opens++; /* keeps the entry: remove fails while opens > 0 */
		__atomic_add_fetch(&registry.opens, 1, __ATOMIC_RELAXED);
		*out = entry;
	}
	pthread_mutex_unlock(&registry.lock);
	return ret;
}

void registry_release(struct registry_entry *entry)
{
	char name[DAT_NAME_MAX_LENGTH];
	bool last;

	pthread_mutex_lock(&registry.lock);
	__atomic_sub_fetch(&registry.opens, 1, __ATOMIC_RELAXED);
	last = --entry->opens == 0 && entry->loaded;
	strcpy(name, entry->info.ia_name);
	pthread_mutex_unlock(&registry.lock);
	if (last)
		loader_finish(name);
}

void registry_ia_opened(struct registry_ia *ia, DAT_IA_HANDLE handle)
{
	ia->handle = handle;
	pthread_mutex_lock(&registry.lock);
	TAILQ_INSERT_TAIL(&registry.ias, ia, link);
	pthread_mutex_unlock(&registry.lock);
}

void registry_ia_closed(DAT_IA_HANDLE handle)
{
	struct registry_ia *ia;

	if (!registry_any_open())
		return;
	pthread_mutex_lock(&registry.lock);
	TAILQ_FOREACH(ia, &registry.ias, link)
		if (ia->handle == handle)
			break;
	if (ia)
		TAILQ_REMOVE(&registry.ias, ia, link);
	pthread_mutex_unlock(&registry.lock);
	if (ia)
		registry_release(ia->entry);
	free(ia);
}

/* ---- names that came with a library ---- */

bool registry_mark_loaded(const DAT_PROVIDER_INFO *info, DAT_PROVIDER_FINI_FUNC fini)
{
	struct registry_entry *entry;

	pthread_mutex_lock(&registry.lock);
	entry = registry_find(info->ia_name);
	if (entry && entry->leaving)
		entry = NULL;
	if (entry) {
		entry->loaded = true;
		entry->fini = fini;
		entry->init_info = *info;
	}
	pthread_mutex_unlock(&registry.lock);
	return entry != NULL;
}

bool registry_begin_leaving(const char *name, DAT_PROVIDER_FINI_FUNC *fini, DAT_PROVIDER_INFO *info)
{
	struct registry_entry *entry;
	bool leaves;

	pthread_mutex_lock(&registry.lock);
	entry = registry_find(name);
	leaves = entry && entry->loaded && !entry->leaving && entry->opens == 0;
	if (leaves) {
		entry->leaving = true;
		*fini = entry->fini;
		*info = entry->init_info;
	}
	pthread_mutex_unlock(&registry.lock);
	return leaves;
}

bool registry_end_leaving(const char *name)
{
	struct registry_entry *entry;

	pthread_mutex_lock(&registry.lock);
	entry = registry_find(name);
	if (entry && entry->leaving)
		TAILQ_REMOVE(&registry.entries, entry, link);
	else
		entry = NULL; /* the library removed its name, as it should */
	pthread_mutex_unlock(&registry.lock);
	free(entry);
	return entry != NULL;
}

/* ---- our own adapters ---- */

static bool built_in_info(struct backend *b, unsigned int i, DAT_PROVIDER_INFO *info)
{
	memset(info, 0, sizeof(*info));
	if (!b->kind->adapter_name(i, info->ia_name, sizeof(info->ia_name)))
		return false;
	info->dapl_version_major = DAT_VERSION_MAJOR;
	info->dapl_version_minor = DAT_VERSION_MINOR;
	info->is_thread_safe = DAT_THREADSAFE;
	return true;
}

static bool is_built_in(const char *name)
{
	DAT_PROVIDER_INFO info;
	struct backend *b;

	if (dat_backend_chosen(&b) != DAT_SUCCESS)
		return false;
	for (unsigned int i = 0; i < BUILT_IN_LISTED && built_in_info(b, i, &info); i++)
		if (strcmp(info.ia_name, name) == 0)
			return true;
	return false;
}

/*
 * True if the dat.conf or the backend gives this name to an adapter of ours: a provider may not
 * register it.
 */
static bool registry_is_ours(const char *name)
{
	const struct dat_conf_entry *line;
	const struct dat_conf *conf;
	bool named = false, ours = false;

	loader_lock();
	conf = dat_conf_now();
	if (conf)
		TAILQ_FOREACH(line, &conf->entries, link)
			if (strcmp(line->info.ia_name, name) == 0) {
				named = true;
				ours |= line->ours;
			}
	loader_unlock();
	return named ? ours : is_built_in(name);
}

/* ---- list ---- */

/* Where a description is from. A lookup asks the last of these first. */
enum source {
	SOURCE_BUILT_IN,
	SOURCE_CONF,
	SOURCE_REGISTRY,
};

struct listed {
	DAT_PROVIDER_INFO info;
	enum source source;
};

/* The list under construction; `all` grows as needed. */
struct listing {
	struct listed *all;
	DAT_COUNT n, room;
	bool failed;
};

static void listing_add(struct listing *l, const DAT_PROVIDER_INFO *info, enum source source)
{
	for (DAT_COUNT i = 0; i < l->n; i++) {
		if (strcmp(l->all[i].info.ia_name, info->ia_name) != 0)
			continue;
		if (l->all[i].source < source)
			l->all[i] = (struct listed){ *info, source };
		return;
	}
	if (l->n == l->room) {
		DAT_COUNT room = l->room ? 2 * l->room : 16;
		void *larger = realloc(l->all, (size_t)room * sizeof(*l->all));

		if (!larger) {
			l->failed = true;
			return;
		}
		l->all = larger;
		l->room = room;
	}
	l->all[l->n++] = (struct listed){ *info, source };
}

static void listing_add_lines(struct listing *l, const struct dat_conf *conf, bool is_default)
{
	const struct dat_conf_entry *line;

	TAILQ_FOREACH(line, &conf->entries, link)
		if (line->is_default == is_default &&
		    line->info.dapl_version_major == DAT_VERSION_MAJOR)
			listing_add(l, &line->info, SOURCE_CONF);
}

/* Add each name once, with the description that a lookup finds. Our adapters come first. */
static bool listing_fill(struct listing *l, struct backend *b)
{
	const struct dat_conf *conf;
	struct registry_entry *entry;
	DAT_PROVIDER_INFO info;

	for (unsigned int i = 0; i < BUILT_IN_LISTED && built_in_info(b, i, &info); i++)
		listing_add(l, &info, SOURCE_BUILT_IN);
	loader_lock();
	conf = dat_conf_now();
	if (conf) {
		listing_add_lines(l, conf, true);
		listing_add_lines(l, conf, false);
	}
	loader_unlock();
	pthread_mutex_lock(&registry.lock);
	TAILQ_FOREACH(entry, &registry.entries, link)
		listing_add(l, &entry->info, SOURCE_REGISTRY);
	pthread_mutex_unlock(&registry.lock);
	return conf && !l->failed;
}

static DAT_RETURN listing_copy(const struct listing *l, DAT_COUNT max, DAT_COUNT *entries,
			       DAT_PROVIDER_INFO *(list[]))
{
	*entries = l->n; /* also when the list is too small: ruling G2 */
	if (max < l->n)
		return BAD_ARG(1);
	for (DAT_COUNT i = 0; i < l->n; i++)
		if (!list || !list[i])
			return BAD_ARG(3);
	for (DAT_COUNT i = 0; i < l->n; i++)
		*list[i] = l->all[i].info;
	return DAT_SUCCESS;
}

DAT_RETURN dat_registry_list_providers(DAT_COUNT max, DAT_COUNT *entries,
				       DAT_PROVIDER_INFO *(list[]))
{
	struct listing l = { .n = 0 };
	struct backend *b;
	DAT_RETURN ret;

	if (max < 0)
		return BAD_ARG(1);
	if (!entries)
		return BAD_ARG(2);
	ret = dat_backend_chosen(&b);
	if (ret != DAT_SUCCESS || !listing_fill(&l, b))
		ret = DAT_FAIL(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	else
		ret = listing_copy(&l, max, entries, list);
	free(l.all);
	return ret;
}

DAT_RETURN dat_sim_dat_conf(const char **path, DAT_COUNT *adapters, DAT_COUNT *skipped)
{
	const struct dat_conf *conf;

	if (!path)
		return BAD_ARG(1);
	if (!adapters)
		return BAD_ARG(2);
	if (!skipped)
		return BAD_ARG(3);
	loader_lock();
	conf = dat_conf_now();
	if (conf) {
		*path = conf->path;
		*adapters = conf->lines;
		*skipped = conf->skipped;
	}
	loader_unlock();
	return conf ? DAT_SUCCESS : DAT_FAIL(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}

/* ---- add, remove ---- */

DAT_RETURN dat_registry_add_provider(DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	struct registry_entry *entry;
	DAT_RETURN ret;

	if (!provider)
		return BAD_ARG(1);
	if (!info || info->ia_name[0] == '\0' ||
	    strnlen(info->ia_name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return BAD_ARG(2);
	if (registry_is_ours(info->ia_name))
		return DAT_FAIL(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE);
	pthread_mutex_lock(&registry.lock);
	ret = DAT_FAIL(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE);
	if (registry_find(info->ia_name))
		goto unlock;
	ret = DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		goto unlock;
	entry->info = *info;
	entry->provider = provider;
	TAILQ_INSERT_TAIL(&registry.entries, entry, link);
	ret = DAT_SUCCESS;
unlock:
	pthread_mutex_unlock(&registry.lock);
	return ret;
}

DAT_RETURN dat_registry_remove_provider(DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	struct registry_entry *entry;
	DAT_RETURN ret = BAD_ARG(2);

	if (!provider)
		return BAD_ARG(1);
	if (!info || strnlen(info->ia_name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return BAD_ARG(2);
	pthread_mutex_lock(&registry.lock);
	entry = registry_find(info->ia_name);
	if (!entry || entry->provider != provider)
		goto unlock;
	ret = DAT_FAIL(DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE);
	if (entry->opens > 0)
		goto unlock;
	TAILQ_REMOVE(&registry.entries, entry, link);
	free(entry);
	ret = DAT_SUCCESS;
unlock:
	pthread_mutex_unlock(&registry.lock);
	return ret;
}
