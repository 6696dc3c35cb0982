/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat/dat_registry.h - the registry of provider libraries. Programs do not need this file.
 *
 * The file /etc/dat.conf, or the file of the environment variable DAT_OVERRIDE, tells which library
 * serves which adapter, one adapter a line:
 *
 *	# name     API  thread safety default library       version  instance data  platform
 *	rnic0      u1.2 nonthreadsafe default librnic.so.1  rnic.1.2 "port=1"       ""
 *	OpenIB-cma u1.2 nonthreadsafe default libdat.so.1   dapl.1.2 "emu0"         ""
 *
 * The registry loads a library when one of its adapters is first opened and calls its
 * dat_provider_init, and calls its dat_provider_fini when no IA of that adapter is open any more;
 * both once for each adapter. The library's code stays loaded.
 *
 * If the library is libdat itself (libdat.so, libdat.so.1, with or without a folder, or ""), the
 * instance data names one of its adapters: with the second line above, a program with the built-in
 * name OpenIB-cma opens emu0 (ruling G10). Such a line serves both thread safeties; any other line
 * that says nonthreadsafe does not serve programs that ask for DAT_TRUE. Of several matching lines
 * the first default one counts.
 *
 * A field with blanks or # in it stands in double quotes, in which \" and \\ are " and \. # begins
 * a comment. An invalid line is skipped and reported on stderr, with its place and what was
 * expected there. If the file of DAT_OVERRIDE cannot be read, every dat_ia_open fails (ruling E11).
 */
#ifndef _DAT_REGISTRY_H_
#define _DAT_REGISTRY_H_

#include <dat/udat.h>
#include <dat/udat_redirection.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Adds the adapter info->ia_name, served by the functions of *provider. *info is copied; *provider
 * is not, and has to stay until the adapter is removed. A name can be registered only once. Errors:
 * DAT_INVALID_PARAMETER (NULL, no name), DAT_PROVIDER_ALREADY_REGISTERED (also a name that libdat
 * itself serves), DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_registry_add_provider(DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info);

/*
 * Removes an adapter; the table belongs to the caller from then on.
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
