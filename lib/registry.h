/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * registry.h - which provider serves which adapter name, in this process.
 *
 * A name is looked for among those that providers registered, then in the dat.conf (dat_conf.h), then
 * among libdat's own adapters; dat_ia_open (open.c) goes through the table of whichever it is. A library
 * that the dat.conf names is loaded when one of its adapters is first opened (loader.h).
 *
 * Locks: loader_lock around looking into the dat.conf and around loading, the registry's own, inside
 * that one, around the entries.
 */
#ifndef LIB_REGISTRY_H
#define LIB_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include <dat/udat.h>
#include <dat/dat_registry.h>
#include <dat/udat_redirection.h>

/* What dat_ia_openv asks for. */
struct request {
	const char *name;
	DAT_UINT32 major, minor;
	DAT_BOOLEAN thread_safety;
};

/* DAT_SUCCESS: an adapter of this description serves the request; else what does not fit. */
DAT_RETURN registry_fits(const DAT_PROVIDER_INFO *info, const struct request *request);

/* A name some provider registered. */
struct registry_entry {
	TAILQ_ENTRY(registry_entry) link;
	DAT_PROVIDER_INFO info;
	DAT_PROVIDER *provider;
	unsigned int opens; /* IAs, and openings under way */
	/* Registered while its library was loaded: what to call when the last IA is closed. */
	bool loaded, leaving;
	DAT_PROVIDER_FINI_FUNC fini;
	DAT_PROVIDER_INFO init_info; /* what init was given, for fini */
};

/* An IA of a provider; remembered, so that its closing is told to the right name. */
struct registry_ia {
	TAILQ_ENTRY(registry_ia) link;
	struct registry_entry *entry;
	DAT_IA_HANDLE handle;
};

/*
 * The entry of the name asked for, which stays until registry_release. DAT_SUCCESS and NULL: there is
 * none, or its library is being told to go.
 */
DAT_RETURN registry_hold(const struct request *request, struct registry_entry **entry);
/* One opening less; if it was the last of a loaded name, its library hears of it. */
void registry_release(struct registry_entry *entry);
/* From here on the handle is an IA of ia->entry, whose hold passes to it. */
void registry_ia_opened(struct registry_ia *ia, DAT_IA_HANDLE handle);
/* An IA was closed; the registry asks whether it was a provider's, and finishes its library. */
void registry_ia_closed(DAT_IA_HANDLE handle);

/* The registry's side of loader.h. */
bool registry_mark_loaded(const DAT_PROVIDER_INFO *info, DAT_PROVIDER_FINI_FUNC fini);
bool registry_begin_leaving(const char *name, DAT_PROVIDER_FINI_FUNC *fini,
			    DAT_PROVIDER_INFO *info);
bool registry_end_leaving(const char *name);

/*
 * The provider that a handle outside our ranges belongs to; NULL: none that has an IA open. The value is
 * read as a pointer to one, by a read that cannot fault.
 */
DAT_PROVIDER *registry_foreign_provider(DAT_HANDLE handle);

#endif /* LIB_REGISTRY_H */
