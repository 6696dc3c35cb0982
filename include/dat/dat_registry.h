/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat/dat_registry.h - how a provider library joins. Programs do not need this file.
 *
 * The file /etc/dat.conf, or the one that the environment variable DAT_OVERRIDE names, says which
 * library serves which adapter, a line each:
 *
 *	# name     API  thread safety default library       version  instance data  platform
 *	rnic0      u1.2 nonthreadsafe default librnic.so.1  rnic.1.2 "port=1"       ""
 *	OpenIB-cma u1.2 nonthreadsafe default libdat.so.1   dapl.1.2 "emu0"         ""
 *
 * The registry loads a library when one of its adapters is first opened and calls its
 * dat_provider_init, and calls its dat_provider_fini when no IA of that adapter is open any more;
 * both once for each adapter. The library's code stays loaded.
 *
 * Where the library is libdat itself (libdat.so, libdat.so.1, with or without a folder, or ""), the
 * instance data is one of its adapters: a program that has the name OpenIB-cma built in opens emu0
 * (ruling G10). Such a name serves both thread safeties; any other line that says nonthreadsafe
 * serves nobody who asks for DAT_TRUE. Of several lines that would do, the first default one counts.
 *
 * A field with blanks or # in it stands in double quotes, in which \" and \\ are " and \. # begins
 * a comment. A line that makes no sense is reported on stderr, with its place and what was expected
 * there, and skipped. A DAT_OVERRIDE that cannot be read fails every opening (ruling E11).
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
 * Errors: DAT_INVALID_PARAMETER (NULL, no name), DAT_PROVIDER_ALREADY_REGISTERED (also a name that
 * libdat itself serves), DAT_INSUFFICIENT_RESOURCES.
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
