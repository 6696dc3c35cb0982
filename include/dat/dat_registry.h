/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat/dat_registry.h - how a provider library joins. Programs do not need this file.
 *
 * The registry loads a provider library when one of its adapters is first opened, calls its
 * dat_provider_init, and calls its dat_provider_fini when no IA of it is open any more.
 */
#ifndef _DAT_REGISTRY_H_
#define _DAT_REGISTRY_H_

#include <dat/udat.h>
#include <dat/udat_redirection.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Adds the adapter info->ia_name, served by the functions of *provider. The information is copied,
 * the table is not and has to stay until it is removed. A name can be there once.
 * Errors: DAT_INVALID_PARAMETER (NULL), DAT_PROVIDER_ALREADY_REGISTERED,
 * DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_registry_add_provider(DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info);

/*
 * Takes it away again; the table is the caller's from then on.
 * Errors: DAT_INVALID_PARAMETER (NULL, not there), DAT_PROVIDER_IN_USE (an IA is open).
 */
DAT_RETURN dat_registry_remove_provider(DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info);

/*
 * The two functions that a provider library exports. The first adds info->ia_name and nothing else;
 * instance_data is the string the configuration file gives with the adapter. Neither may keep its
 * arguments after it returned.
 */
#define DAT_PROVIDER_INIT_FUNC_NAME	dat_provider_init
#define DAT_PROVIDER_INIT_FUNC_STR	"dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_NAME	dat_provider_fini
#define DAT_PROVIDER_FINI_FUNC_STR	"dat_provider_fini"

typedef void (*DAT_PROVIDER_INIT_FUNC)(const DAT_PROVIDER_INFO *info, const char *instance_data);
typedef void (*DAT_PROVIDER_FINI_FUNC)(const DAT_PROVIDER_INFO *info);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_REGISTRY_H_ */
