/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * registry.h - which provider serves which adapter name, in this process.
 *
 * libdat's own adapters stand in it like a third party's. Entries are kept in the order they came.
 * Lock: its own.
 */
#ifndef LIB_REGISTRY_H
#define LIB_REGISTRY_H

#include <dat/udat.h>
#include <dat/dat_registry.h>
#include <dat/udat_redirection.h>

/* The provider that a handle outside our ranges belongs to; NULL: none is registered and open. */
DAT_PROVIDER *registry_foreign_provider(DAT_HANDLE handle);

#endif /* LIB_REGISTRY_H */
