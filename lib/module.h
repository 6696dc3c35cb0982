/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * module.h - the backend that is in a module of its own, so that a machine without verbs needs no library of
 * theirs.
 *
 * It is looked for where DAT_HW_MODULE says (a path); without that variable in libdat/passthrough.so beside
 * this library, then where it was installed. Once loaded it stays for the life of the process.
 */
#ifndef LIB_MODULE_H
#define LIB_MODULE_H

#include "nic.h"

/* NULL: there is none, or not for this libdat; said why on stderr, after `asked`. */
const struct nic_backend *module_load(const char *asked, const struct nic_host *host);

#endif /* LIB_MODULE_H */
