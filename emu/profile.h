/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * profile.h - what tells one kind of network from another, as data: a row a profile, no branch by name.
 */
#ifndef EMU_PROFILE_H
#define EMU_PROFILE_H

#include "fabric.h"

/* What the end of a connection consists of, on the side that ends it. */
enum emu_teardown {
	EMU_TEAR_TELL, /* the peer, where it does not know yet */
	EMU_TEAR_SENDS,
	EMU_TEAR_RECEIVES,
	EMU_TEAR_STEPS
};

struct emu_profile {
	const char *name;
	bool in_order; /* a message takes its buffer in its turn, not when it arrives */
	bool rnr;      /* no buffer is answered "not ready", to be sent again; else it breaks */
	bool refusal_covers; /* a refusal acknowledges all requests before it */
	bool stream;         /* what is lost is brought again from below: loss is delay */
	enum emu_teardown teardown[EMU_TEAR_STEPS];
};

#define EMU_PROFILES 2u

extern const struct emu_profile emu_profiles[EMU_PROFILES];

/* Number of the profile of that name; -1: there is none. */
int emu_profile_find(const char *name);

static inline const struct emu_profile *emu_profile(const struct emu_world *w)
{
	return &emu_profiles[w->fab->config.profile % EMU_PROFILES];
}

#endif /* EMU_PROFILE_H */
