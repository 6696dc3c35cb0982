/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * registry.h - the provider that serves each adapter name in this process.
 *
 * A name is looked up first among those that providers registered, then in the dat.conf
 * (dat_conf.h), then among libdat's own adapters; dat_ia_open (open.c) calls through the table of
 * the provider found. A library that the dat.conf names is loaded when one of its adapters is first
 * opened (loader.h).
 *
 * Locks: loader_lock for the dat.conf and for loading; the registry's own lock, taken inside it,
 * for the entries.
 */
#ifndef LIB_REGISTRY_H
#define LIB_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include <dat/udat.h>
#include <dat/dat_registry.h>
#include <dat/udat_redirection.h>

/* The arguments of dat_ia_openv that select a provider. */
struct open_request {
	const char *name;
	DAT_UINT32 major, minor;
	DAT_BOOLEAN thread_safety;
};

/*
 * DAT_SUCCESS: an adapter with this description serves the request; otherwise the first mismatch.
 */
DAT_RETURN registry_fits(const DAT_PROVIDER_INFO *info, const struct open_request *request);

/* A name that a provider registered. */
struct registry_entry {
	TAILQ_ENTRY(registry_entry) link;
	DAT_PROVIDER_INFO info;
	DAT_PROVIDER *provider;
	unsigned int opens; /* open IAs and opens in progress */
	/*
	 * Registered by a library that the loader loaded: it is called when the last IA is closed.
	 */
	bool loaded, leaving;
	DAT_PROVIDER_FINI_FUNC fini;
	DAT_PROVIDER_INFO init_info; /* the argument of init, passed to fini as well */
};

/* An open IA of a provider, so that its close is counted on the right name. */
struct registry_ia {
	TAILQ_ENTRY(registry_ia) link;
	struct registry_entry *entry;
	DAT_IA_HANDLE handle;
};

/*
 * The entry of the requested name, held until registry_release. DAT_SUCCESS and NULL: there is no
 * entry, or its library is being shut down.
 */
DAT_RETURN registry_hold(const struct open_request *request, struct registry_entry **entry);
/* Drop a hold. The last one on a name that the loader loaded calls the library's fini. */
void registry_release(struct registry_entry *entry);
/* The open succeeded: `handle` is an IA of ia->entry and takes over its hold. */
void registry_ia_opened(struct registry_ia *ia, DAT_IA_HANDLE handle);
/* An IA was closed. If it was a provider's, its hold is dropped. */
void registry_ia_closed(DAT_IA_HANDLE handle);

/* For loader.c. */
bool registry_mark_loaded(const DAT_PROVIDER_INFO *info, DAT_PROVIDER_FINI_FUNC fini);
bool registry_begin_leaving(const char *name, DAT_PROVIDER_FINI_FUNC *fini,
			    DAT_PROVIDER_INFO *info);
bool registry_end_leaving(const char *name);

/*
 * The provider of a handle outside our ranges, or NULL if no provider with an open IA owns it. The
 * value is dereferenced by a read that cannot fault.
 */
DAT_PROVIDER *registry_foreign_provider(DAT_HANDLE handle);

#endif /* LIB_REGISTRY_H */
