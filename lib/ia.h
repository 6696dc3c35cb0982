/* SPDX-License-Identifier: BSD-3-Clause */
/* ia.h - openings of adapters; struct ia itself is in object.h, for every object has one. */
#ifndef LIB_IA_H
#define LIB_IA_H

#include "object.h"

/* Where asynchronous events of objects of this IA go; NULL: nobody listens. */
struct evd *ia_async_evd(struct ia *ia);
void ia_fill_attr(struct adapter *adapter, DAT_IA_ATTR *attr);
void ia_fill_provider_attr(struct adapter *adapter, DAT_PROVIDER_ATTR *attr);

#endif /* LIB_IA_H */
