/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * module.h - loading of the hardware backend. It is a module, so that a machine without verbs needs
 * no verbs library.
 *
 * DAT_HW_MODULE names its file. Without that variable it is libdat/passthrough.so, next to this
 * library or where it was installed. Once loaded it stays loaded as long as the process lives.
 */
#ifndef HOST_MODULE_H
#define HOST_MODULE_H

#include "nic.h"

/*
 * NULL: there is no such file, or it belongs to another libdat; the reason is on stderr, after
 * `asked`.
 */
const struct nic_backend *module_load(const char *asked, const struct nic_host *host);

#endif /* HOST_MODULE_H */
