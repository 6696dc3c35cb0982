/* SPDX-License-Identifier: BSD-3-Clause */
/* names.h - names of adapters, their addresses, and why one cannot be used. With the lock held. */
#ifndef PASSTHROUGH_NAMES_H
#define PASSTHROUGH_NAMES_H

#include "hw.h"

struct hw_places;

bool hw_adapter_name(unsigned int i, char *name, size_t size);
void hw_canonical(struct nic_world *w, const char *name, char *out, size_t size);
/*
 * Find the place of a name. Devices may be held open by `places`, until an id is bound to the
 * address. -ENODEV: there is none. Other errors are reported to the user.
 */
int hw_find_place(struct nic_world *w, const char *name, struct hw_place *place,
		  struct hw_places **places);
void hw_places_free(struct hw_places *places);
/* -ENODEV: there is no verbs device, and the user has been told why. */
int hw_find_devices(void);
/* May this process use /dev/infiniband/NAME? 0, or an error number. */
int hw_device_file(const char *name);
const char *hw_address_text(const struct sockaddr_storage *addr, char *text, size_t size);
socklen_t hw_address_size(const struct sockaddr_storage *addr);

#endif /* PASSTHROUGH_NAMES_H */
