/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat/udat_config.h - the version a Consumer asks for when it opens an adapter.
 *
 * dat_ia_open() passes these three values on to dat_ia_openv().
 */
#ifndef _UDAT_CONFIG_H_
#define _UDAT_CONFIG_H_

#define DAT_VERSION_MAJOR	1
#define DAT_VERSION_MINOR	2

/*
 * Define it as DAT_TRUE before the first DAT header to ask for calls that may run at the same
 * time on the same object. DAT_FALSE already allows calls on different objects (ruling G7).
 */
#ifndef DAT_THREADSAFE
#define DAT_THREADSAFE		DAT_FALSE
#endif

#endif /* _UDAT_CONFIG_H_ */
