/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * front.h - uDAPL as a front (host/front.h): its part of a backend instance, and of an adapter.
 *
 * There is one struct dat_front for each kind of backend ("emu", "hw"). It is never freed, so that
 * the provider in the first word of every handle, live or stale, stays valid. Lock: the backend's.
 */
#ifndef LIB_FRONT_H
#define LIB_FRONT_H

#include <dat/udat.h>
#include <dat/udat_redirection.h>

#include "host/backend.h"

struct evd;
struct ia;
struct lmr;
TAILQ_HEAD(ia_list, ia);

struct dat_front {
	struct front front;
	DAT_PROVIDER provider;         /* what handles point at; its `extension` is the backend */
	DAT_HANDLE sim;                /* the world's handle, issued when first needed */
	unsigned int live[16];         /* objects, per type */
	LIST_HEAD(, lmr_share) shares; /* cookies of shared memory in use */
};

/* An adapter while at least one IA is open on it. */
struct dat_adapter {
	struct adapter base;
	struct ia_list ias;
	uint32_t last_id[16]; /* per object type */
	struct lmr **lmrs;    /* by lmr_context >> 8; see lmr.h */
	uint32_t lmr_entries, lmr_free;
	int evds, cnos;
};

extern const struct front_ops dat_front_ops;

/*
 * The backend that DAT_PROVIDER names; an error if there is none, and stderr has the reason. No
 * lock is held.
 */
DAT_RETURN dat_backend_chosen(struct backend **backend);
/* Translate an errno of backend.h to a DAT_RETURN. */
DAT_RETURN dat_backend_refusal(int err);

static inline struct backend *backend_of_provider(DAT_PROVIDER *provider)
{
	return provider->extension;
}

/* uDAPL's part of the backend that an adapter of uDAPL belongs to. */
static inline struct dat_front *adapter_front(const struct dat_adapter *adapter)
{
	return (struct dat_front *)adapter->base.front;
}

/* uDAPL's part of a backend, from inside one of its calls: it is attached then. */
static inline struct dat_front *dat_front_of(const struct backend *b)
{
	return (struct dat_front *)backend_front(b, &dat_front_ops);
}

#endif /* LIB_FRONT_H */
