/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open.c - dat_ia_open: find the provider that serves the requested name and version (registry.h),
 * and open the adapter through it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/front.h"
#include "host/forks.h"
#include "host/nic_process.h"
#include "loader.h"
#include "lib/object.h"
#include "host/say.h"

#define RO_AWARE_PREFIX "RO_AWARE_" /* ruling G10 */

/* The provider that serves a request: a registered entry, held, or an adapter of our own. */
struct target {
	struct registry_entry *entry;
	char own[DAT_NAME_MAX_LENGTH];
};

static DAT_RETURN provider_not_found(DAT_RETURN_SUBTYPE subtype)
{
	return DAT_FAIL(DAT_PROVIDER_NOT_FOUND, subtype);
}

/*
 * The major version must equal the requested one and this registry's; the minor must be at least
 * the requested one. A provider that is not thread-safe does not serve a request for thread safety;
 * a thread-safe one serves every request (as ours does: ruling G7).
 */
DAT_RETURN registry_fits(const DAT_PROVIDER_INFO *info, const struct open_request *request)
{
	if (info->dapl_version_major != request->major || request->major != DAT_VERSION_MAJOR)
		return provider_not_found(DAT_MAJOR_NOT_FOUND);
	if (info->dapl_version_minor < request->minor)
		return provider_not_found(DAT_MINOR_NOT_FOUND);
	if (request->thread_safety && !info->is_thread_safe)
		return provider_not_found(DAT_THREAD_SAFETY_NOT_FOUND);
	return DAT_SUCCESS;
}

static DAT_RETURN check_own_version(const struct open_request *request)
{
	static const DAT_PROVIDER_INFO own = {
		.dapl_version_major = DAT_VERSION_MAJOR,
		.dapl_version_minor = DAT_VERSION_MINOR,
		.is_thread_safe = DAT_TRUE, /* for this check: ruling G7 */
	};

	return registry_fits(&own, request);
}

/* ---- the dat.conf ---- */

/*
 * The line that serves the request, a default one first. NULL: *ret is DAT_SUCCESS if no line has
 * the name, else the mismatch of the line that came closest.
 */
static const struct dat_conf_entry *
dat_conf_choose(const struct dat_conf *conf, const struct open_request *request, DAT_RETURN *ret)
{
	const struct dat_conf_entry *line, *best = NULL;
	struct open_request asked = *request;

	*ret = DAT_SUCCESS;
	TAILQ_FOREACH(line, &conf->entries, link) {
		DAT_RETURN fits;

		/* A dat.conf has many lines; their names mostly begin in another way. */
		if (line->info.ia_name[0] != request->name[0] ||
		    strcmp(line->info.ia_name, request->name) != 0)
			continue;
		asked.thread_safety = line->ours ? DAT_FALSE : request->thread_safety;
		fits = registry_fits(&line->info, &asked);
		if (fits == DAT_SUCCESS && (!best || (line->is_default && !best->is_default)))
			best = line;
		else if (fits != DAT_SUCCESS && fits > *ret)
			*ret = fits; /* subtypes are numbered in the order of the checks */
	}
	if (best)
		*ret = DAT_SUCCESS;
	return best;
}

/* With loader_lock held. */
static DAT_RETURN find_target_locked(const struct open_request *request, struct target *target)
{
	const struct dat_conf_entry *line;
	const struct dat_conf *conf;
	DAT_RETURN ret;

	/*
	 * Another thread may have loaded or shut down the library while this one waited for the
	 * lock.
	 */
	ret = registry_hold(request, &target->entry);
	if (ret != DAT_SUCCESS || target->entry)
		return ret;
	conf = dat_conf_now();
	if (!conf && process_shortage(errno))
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (!conf)
		return provider_not_found(DAT_NAME_NOT_REGISTERED); /* ruling E11 */
	line = dat_conf_choose(conf, request, &ret);
	if (!line) {
		strcpy(target->own, request->name);
		return ret;
	}
	if (line->ours) {
		strcpy(target->own, line->instance_data);
		return DAT_SUCCESS;
	}
	if (!loader_start(conf, line))
		return provider_not_found(DAT_NAME_NOT_REGISTERED);
	ret = registry_hold(request, &target->entry);
	return ret != DAT_SUCCESS || target->entry ? ret
						   : provider_not_found(DAT_NAME_NOT_REGISTERED);
}

static DAT_RETURN find_target(const struct open_request *request, struct target *target)
{
	/* A registered name needs neither the dat.conf nor the loader's lock. */
	DAT_RETURN ret = registry_hold(request, &target->entry);

	if (ret != DAT_SUCCESS || target->entry)
		return ret;
	loader_lock();
	ret = find_target_locked(request, target);
	loader_unlock();
	return ret;
}

/* ---- what is said of a version that no provider serves ---- */

/*
 * The first line of that name, if none of the name serves the request. NULL: there is no such line,
 * or a provider registered itself with another version than its line has.
 */
static const struct dat_conf_entry *line_at_fault(const struct dat_conf *conf,
						  const struct open_request *request)
{
	const struct dat_conf_entry *line;
	DAT_RETURN ret;

	if (dat_conf_choose(conf, request, &ret))
		return NULL;
	TAILQ_FOREACH(line, &conf->entries, link)
		if (strcmp(line->info.ia_name, request->name) == 0)
			break;
	return line;
}

/* The program asks for a version of this library, and the adapter is there for another one. */
static void say_other_version(const struct open_request *request)
{
	const struct dat_conf_entry *line;
	const struct dat_conf *conf;

	loader_lock();
	conf = dat_conf_now();
	line = conf ? line_at_fault(conf, request) : NULL;
	if (line)
		say("adapter \"%.64s\": the program asks for uDAPL %u.%u, and %s:%u has the "
		    "adapter for uDAPL %u.%u; add a line for uDAPL %u.%u, or name another adapter",
		    request->name, request->major, request->minor, conf->path, line->line,
		    line->info.dapl_version_major, line->info.dapl_version_minor, request->major,
		    request->minor);
	else
		say("adapter \"%.64s\": the program asks for uDAPL %u.%u, which the provider of "
		    "this adapter does not serve; name another adapter",
		    request->name, request->major, request->minor);
	loader_unlock();
}

static void say_version(const struct open_request *request, DAT_RETURN ret)
{
	if (DAT_GET_SUBTYPE(ret) == DAT_THREAD_SAFETY_NOT_FOUND)
		say("adapter \"%.64s\": the program asks for a thread-safe provider, and no "
		    "provider of this adapter is; open it without thread_safety, or name another "
		    "adapter",
		    request->name);
	if (DAT_GET_SUBTYPE(ret) != DAT_MAJOR_NOT_FOUND &&
	    DAT_GET_SUBTYPE(ret) != DAT_MINOR_NOT_FOUND)
		return;
	if (request->major == DAT_VERSION_MAJOR && request->minor <= DAT_VERSION_MINOR)
		say_other_version(request);
	else
		say("adapter \"%.64s\": the program asks for uDAPL %u.%u, which no provider of "
		    "this adapter serves; this library is uDAPL %d.%d: build the program for it",
		    request->name, request->major, request->minor, DAT_VERSION_MAJOR,
		    DAT_VERSION_MINOR);
}

/* ---- opening ---- */

/* Open through a provider's table. The hold on the name makes its handles valid at once. */
static DAT_RETURN open_entry(struct registry_entry *entry, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			     DAT_IA_HANDLE *out)
{
	DAT_RETURN ret = DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	struct registry_ia *ia = calloc(1, sizeof(*ia));
	char name[DAT_NAME_MAX_LENGTH];

	strcpy(name, entry->info.ia_name);
	if (ia && !entry->provider->ia_open_func) {
		ret = DAT_FAIL(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE); /* as in api.c */
	} else if (ia) {
		ia->entry = entry;
		ret = entry->provider->ia_open_func(name, qlen, async, out);
	}
	if (ret == DAT_SUCCESS) {
		registry_ia_opened(ia, *out);
		return ret;
	}
	free(ia);
	registry_release(entry);
	return ret;
}

/* The backend has listed its adapters on stderr; say what the dat.conf says about the name. */
static void say_where(const struct open_request *request, const struct target *target)
{
	const struct dat_conf *conf;

	loader_lock();
	conf = dat_conf_now();
	if (conf && conf->path && strcmp(target->own, request->name) != 0)
		say("%s says that adapter \"%.64s\" is \"%.64s\", which does not exist; name an "
		    "adapter that exists",
		    conf->path, request->name, target->own);
	else if (conf && conf->path)
		say("%s has no line for adapter \"%.64s\" either; add one", conf->path,
		    request->name);
	loader_unlock();
}

static DAT_RETURN open_adapter(const struct open_request *request, DAT_COUNT qlen,
			       DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia)
{
	struct target target = { .entry = NULL };
	struct backend *b;
	DAT_RETURN ret;

	ret = find_target(request, &target);
	if (ret == DAT_SUCCESS && !target.entry)
		ret = check_own_version(request);
	if (ret != DAT_SUCCESS) {
		say_version(request, ret);
		return ret;
	}
	if (target.entry)
		return open_entry(target.entry, qlen, async, ia);
	forks_stop();
	ret = dat_backend_chosen(&b);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = dat_front_of(b)->provider.ia_open_func(target.own, qlen, async, ia);
	if (DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND)
		say_where(request, &target);
	return ret;
}

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			DAT_IA_HANDLE *ia, DAT_UINT32 major, DAT_UINT32 minor,
			DAT_BOOLEAN thread_safety)
{
	struct open_request request = { name, major, minor, thread_safety };
	const size_t prefix = strlen(RO_AWARE_PREFIX);

	if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return BAD_ARG(1);
	if (!async)
		return BAD_ARG(3);
	if (!ia)
		return BAD_ARG(4);
	if (thread_safety != DAT_TRUE && thread_safety != DAT_FALSE)
		return BAD_ARG(7);
	if (strncmp(name, RO_AWARE_PREFIX, prefix) == 0)
		request.name += prefix;
	return open_adapter(&request, qlen, async, ia);
}
