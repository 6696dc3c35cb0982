/* SPDX-License-Identifier: BSD-3-Clause */
/* path.h - the entries of uDAPL's provider table that belong to each path (host/path.h). */
#ifndef LIB_PATH_H
#define LIB_PATH_H

#include "host/front.h"

/* With the lock held: the calls of every message take this path from now on. */
void path_use(struct front *front, enum path path);

#endif /* LIB_PATH_H */
