/* SPDX-License-Identifier: BSD-3-Clause */
/* ia.h - open IAs. struct ia is in object.h, because every object refers to one. */
#ifndef LIB_IA_H
#define LIB_IA_H

#include "object.h"

/* The EVD that gets the asynchronous events of this IA's objects; NULL: there is none. */
struct evd *ia_async_evd(struct ia *ia);
void ia_fill_attr(struct dat_adapter *adapter, DAT_IA_ATTR *attr);
void ia_fill_provider_attr(struct dat_adapter *adapter, DAT_PROVIDER_ATTR *attr);

#endif /* LIB_IA_H */
