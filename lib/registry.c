/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "api.h"
#include "backend.h"
#include "object.h"
#include "registry.h"
#include "say.h"

#define RO_AWARE_PREFIX "RO_AWARE_" /* ruling G10 */
#define BUILT_IN_LISTED 64

struct entry {
	TAILQ_ENTRY(entry) link;
	DAT_PROVIDER_INFO info;
	DAT_PROVIDER *provider;
	unsigned int opens; /* IAs */
};

/* What a process has one of by the standard's own design. */
static struct {
	pthread_mutex_t lock;
	TAILQ_HEAD(, entry) entries; /* third parties' */
	unsigned int opens;          /* IAs of all of them */
} registry = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.entries = TAILQ_HEAD_INITIALIZER(registry.entries),
};

static struct entry *find(const char *name)
{
	struct entry *entry;

	TAILQ_FOREACH(entry, &registry.entries, link)
		if (strcmp(entry->info.ia_name, name) == 0)
			break;
	return entry;
}

/* ---- handles of third parties ---- */

/* The word a value points at, if it points at anything: the kernel looks, so that we cannot fault. */
static bool read_word(DAT_HANDLE handle, DAT_PROVIDER **word)
{
	struct iovec local = { .iov_base = word, .iov_len = sizeof(*word) };
	struct iovec remote = { .iov_base = handle, .iov_len = sizeof(*word) };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof(*word);
}

DAT_PROVIDER *registry_foreign_provider(DAT_HANDLE handle)
{
	DAT_PROVIDER *word = NULL;
	struct entry *entry;

	if (__atomic_load_n(&registry.opens, __ATOMIC_RELAXED) == 0 || !read_word(handle, &word))
		return NULL;
	pthread_mutex_lock(&registry.lock);
	TAILQ_FOREACH(entry, &registry.entries, link)
		if (entry->provider == word && entry->opens > 0)
			break;
	pthread_mutex_unlock(&registry.lock);
	return entry ? word : NULL;
}

void registry_foreign_closed(DAT_PROVIDER *provider)
{
	struct entry *entry;

	pthread_mutex_lock(&registry.lock);
	TAILQ_FOREACH(entry, &registry.entries, link)
		if (entry->provider == provider && entry->opens > 0) {
			entry->opens--;
			registry.opens--;
			break;
		}
	pthread_mutex_unlock(&registry.lock);
}

/* Through a third party's table; counted before, so that its handles are known at once. */
static DAT_RETURN open_foreign(struct entry *entry, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			       DAT_IA_HANDLE *ia)
{
	DAT_PROVIDER *provider = entry->provider;
	DAT_RETURN ret;

	ret = provider->ia_open_func(entry->info.ia_name, qlen, async, ia);
	if (ret != DAT_SUCCESS)
		registry_foreign_closed(provider);
	return ret;
}

/* ---- our own adapters ---- */

static bool built_in_info(struct backend *b, unsigned int i, DAT_PROVIDER_INFO *info)
{
	memset(info, 0, sizeof(*info));
	if (!b->kind->adapter_name(b->world, i, info->ia_name, sizeof(info->ia_name)))
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

	if (backend_chosen(&b) != DAT_SUCCESS)
		return false;
	for (unsigned int i = 0; i < BUILT_IN_LISTED && built_in_info(b, i, &info); i++)
		if (strcmp(info.ia_name, name) == 0)
			return true;
	return false;
}

/* ---- open ---- */

static DAT_RETURN not_found(DAT_RETURN_SUBTYPE subtype)
{
	return DAT_FAIL(DAT_PROVIDER_NOT_FOUND, subtype);
}

/* Major must match, minor must reach; one entry serves both thread safeties (ruling G7). */
static DAT_RETURN check_version(DAT_UINT32 major, DAT_UINT32 minor)
{
	if (major != DAT_VERSION_MAJOR) {
		say("this is uDAPL %d.%d; the program asks for %u.%u", DAT_VERSION_MAJOR,
		    DAT_VERSION_MINOR, major, minor);
		return not_found(DAT_MAJOR_NOT_FOUND);
	}
	if (minor > DAT_VERSION_MINOR) {
		say("this is uDAPL %d.%d; the program asks for %u.%u", DAT_VERSION_MAJOR,
		    DAT_VERSION_MINOR, major, minor);
		return not_found(DAT_MINOR_NOT_FOUND);
	}
	return DAT_SUCCESS;
}

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			DAT_IA_HANDLE *ia, DAT_UINT32 major, DAT_UINT32 minor,
			DAT_BOOLEAN thread_safety)
{
	const size_t prefix = strlen(RO_AWARE_PREFIX);
	char *bare = name;
	struct entry *entry;
	struct backend *b;
	DAT_RETURN ret;

	if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return BAD_ARG(1);
	if (!async)
		return BAD_ARG(3);
	if (!ia)
		return BAD_ARG(4);
	if (thread_safety != DAT_TRUE && thread_safety != DAT_FALSE)
		return BAD_ARG(7);
	if (strncmp(name, RO_AWARE_PREFIX, prefix) == 0)
		bare += prefix;
	ret = check_version(major, minor);
	if (ret != DAT_SUCCESS)
		return ret;
	pthread_mutex_lock(&registry.lock);
	entry = find(bare);
	if (entry) {
		entry->opens++; /* it stays: remove refuses while this is not 0 */
		registry.opens++;
	}
	pthread_mutex_unlock(&registry.lock);
	if (entry)
		return open_foreign(entry, qlen, async, ia);
	ret = backend_chosen(&b);
	if (ret != DAT_SUCCESS)
		return ret;
	return b->provider.ia_open_func(bare, qlen, async, ia);
}

/* ---- list, add, remove ---- */

static DAT_COUNT count_built_in(struct backend *b)
{
	DAT_PROVIDER_INFO info;
	DAT_COUNT n = 0;

	while (n < BUILT_IN_LISTED && built_in_info(b, (unsigned int)n, &info))
		n++;
	return n;
}

static DAT_COUNT count_all(struct backend *b)
{
	DAT_COUNT n = count_built_in(b);
	struct entry *entry;

	TAILQ_FOREACH(entry, &registry.entries, link)
		n++;
	return n;
}

DAT_RETURN dat_registry_list_providers(DAT_COUNT max, DAT_COUNT *entries,
				       DAT_PROVIDER_INFO *(list[]))
{
	DAT_COUNT total, n;
	struct entry *entry;
	struct backend *b;
	DAT_RETURN ret;

	if (max < 0)
		return BAD_ARG(1);
	if (!entries)
		return BAD_ARG(2);
	ret = backend_chosen(&b);
	if (ret != DAT_SUCCESS)
		return DAT_FAIL(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	pthread_mutex_lock(&registry.lock);
	total = count_all(b);
	*entries = total; /* also when the list is too small: ruling G2 */
	ret = BAD_ARG(1);
	if (max < total)
		goto unlock;
	ret = BAD_ARG(3);
	for (DAT_COUNT i = 0; i < total; i++)
		if (!list || !list[i])
			goto unlock;
	for (n = 0; n < count_built_in(b); n++)
		built_in_info(b, (unsigned int)n, list[n]);
	TAILQ_FOREACH(entry, &registry.entries, link)
		*list[n++] = entry->info;
	ret = DAT_SUCCESS;
unlock:
	pthread_mutex_unlock(&registry.lock);
	return ret;
}

DAT_RETURN dat_registry_add_provider(DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	struct entry *entry;
	DAT_RETURN ret;

	if (!provider)
		return BAD_ARG(1);
	if (!info || info->ia_name[0] == '\0' ||
	    strnlen(info->ia_name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return BAD_ARG(2);
	if (is_built_in(info->ia_name))
		return DAT_FAIL(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE);
	pthread_mutex_lock(&registry.lock);
	ret = DAT_FAIL(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE);
	if (find(info->ia_name))
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
	struct entry *entry;
	DAT_RETURN ret = BAD_ARG(2);

	if (!provider)
		return BAD_ARG(1);
	if (!info || strnlen(info->ia_name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return BAD_ARG(2);
	pthread_mutex_lock(&registry.lock);
	entry = find(info->ia_name);
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
