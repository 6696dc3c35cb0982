/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * registry.h - which provider serves which adapter name, in this process.
 *
 * libdat's own adapters come first, those that third parties registered after them, in the order they
 * came; dat_ia_open goes through the table of whichever it is.
 * Lock: its own.
 */
#ifndef LIB_REGISTRY_H
#define LIB_REGISTRY_H

#include <dat/udat.h>
#include <dat/dat_registry.h>
#include <dat/udat_redirection.h>

/*
 * The provider that a handle outside our ranges belongs to; NULL: none that has an IA open. The value is
 * read as a pointer to one, by a read that cannot fault.
 */
DAT_PROVIDER *registry_foreign_provider(DAT_HANDLE handle);
/* An IA of that third-party provider was closed. */
void registry_foreign_closed(DAT_PROVIDER *provider);

#endif /* LIB_REGISTRY_H */
