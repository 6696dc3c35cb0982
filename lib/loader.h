/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loader.h - provider libraries that the dat.conf names.
 *
 * A library is loaded when one of its adapters is first opened and its dat_provider_init is called, once
 * for each name; when the last IA of a name is closed, its dat_provider_fini. Its code stays: a thread
 * may still be on its way out of it.
 *
 * Lock: one for everything here. A provider may come back into the library from its init and fini, so it
 * is recursive; the registry's lock is not held while a provider runs.
 */
#ifndef LIB_LOADER_H
#define LIB_LOADER_H

#include "dat_conf.h"
#include "registry.h"

void loader_lock(void);
void loader_unlock(void);

/* ---- with that lock held ---- */

/*
 * Load what the line names and let it register the adapter. false: that failed; why went to stderr with
 * the line's place.
 */
bool loader_start(const struct dat_conf *conf, const struct dat_conf_entry *line);

/* ---- without any lock ---- */

/* The last IA of the name was closed: its fini, unless somebody opened one meanwhile. */
void loader_finish(const char *name);

#endif /* LIB_LOADER_H */
