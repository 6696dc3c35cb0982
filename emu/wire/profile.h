/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * profile.h - the differences between InfiniBand and iWARP, as data: one row for each profile. No
 * code tests a profile by its name.
 */
#ifndef EMU_WIRE_PROFILE_H
#define EMU_WIRE_PROFILE_H

#include "emu/fabric/fabric.h"

/* The steps by which a side ends a connection; their order differs. */
enum emu_teardown {
	EMU_TEAR_TELL,     /* tell the peer, unless it knows */
	EMU_TEAR_SENDS,    /* flush the send queue */
	EMU_TEAR_RECEIVES, /* flush the receive queue */
	EMU_TEAR_STEPS
};

struct emu_profile {
	const char *name;
	bool in_order;   /* messages take receive buffers in order, not as they arrive */
	bool rnr;        /* no receive buffer: RNR NAK and retransmission; else it breaks */
	bool nak_covers; /* a NAK acknowledges all requests before it */
	bool stream;     /* TCP retransmits below: a lost packet is a late one */
	enum emu_teardown teardown[EMU_TEAR_STEPS];
};

#define EMU_PROFILES 2u

extern const struct emu_profile emu_profiles[EMU_PROFILES];

/* Number of the profile of that name; -1: there is none. */
int emu_profile_find(const char *name);

static inline const struct emu_profile *emu_profile(const struct emu_world *w)
{
	return &emu_profiles[w->config.profile % EMU_PROFILES];
}

#endif /* EMU_WIRE_PROFILE_H */
