/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loader.h - loading of the provider libraries that the dat.conf names.
 *
 * A library is loaded when one of its adapters is first opened; its dat_provider_init is then
 * called once for each name. When the last IA of a name is closed, dat_provider_fini is called. The
 * code stays mapped, because a thread may still be executing in it.
 *
 * Lock: one for this module. It is recursive, because a provider may call libdat from its init and
 * fini. The registry's lock is not held while a provider runs.
 */
#ifndef LIB_REGISTRY_LOADER_H
#define LIB_REGISTRY_LOADER_H

#include "dat_conf.h"
#include "registry.h"

void loader_lock(void);
void loader_unlock(void);

/* ---- with that lock held ---- */

/*
 * Load the library of `line` and let it register the adapter. False: that failed, and the reason
 * went to stderr with the file name and line number.
 */
bool loader_start(const struct dat_conf *conf, const struct dat_conf_entry *line);

/* ---- without any lock ---- */

/* The last IA of the name was closed: call fini, unless an IA was opened meanwhile. */
void loader_finish(const char *name);

#endif /* LIB_REGISTRY_LOADER_H */
