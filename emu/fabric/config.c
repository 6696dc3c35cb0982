/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fabric is made with: its parameters, and the generator that is seeded from them. */
#include "config.h"

#include "emu/wire/profile.h"
#include "host/random.h"
#include "ring.h"

#define EMU_NETWORK 0xc6120000u /* 198.18.0.0, in the range set aside for test networks */
#define EMU_PREFIX  16u

#define TIME_MOST      (1ul << 50)
#define BANDWIDTH_MOST (1ul << 60)
#define MTU_MOST       65536u
#define RETRIES_MOST   7u
#define ADDRESSES_MOST (1u << 24)

static uint64_t rotate_left(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

uint64_t emu_random(struct emu_world *w)
{
	uint64_t *s = w->fab->random;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

void emu_configure(struct emu_world *w, const struct nic_config *config)
{
	struct emu_config *c = &w->config;
	uint64_t x = config->seed;

	c->profile = (uint32_t)emu_profile_find(config->profile);
	c->seed = config->seed;
	c->latency_ns = config->latency_ns;
	c->bandwidth_bps = config->bandwidth_bps;
	c->rnr_timer_ns = config->rnr_timer_ns;
	c->poll_quantum_ns = config->poll_quantum_ns;
	c->mtu = config->mtu;
	c->rnr_retry = config->rnr_retry;
	c->retry = config->retry;
	c->retry_timer_ns = config->retry_timer_ns;
	c->hostile = config->hostile;
	c->trace_bytes = EMU_TRACE_BYTES;
	c->trace_last = config->trace_last;
	if (config->trace_last)
		c->trace_ring = emu_ring_size(config->trace_last);
	else if (config->trace_bytes && config->trace_bytes < EMU_TRACE_BYTES)
		c->trace_bytes = config->trace_bytes;
	c->address = config->prefix ? config->network : EMU_NETWORK;
	/* Without the network address and the broadcast address. */
	c->addresses = (1u << (32 - (config->prefix ? config->prefix : EMU_PREFIX))) - 2;
	for (int i = 0; i < 4; i++)
		w->fab->random[i] = random_next(&x);
	w->fab->config = *c;
}

/* The ranges that host/knob.c admits. */
bool emu_config_adopt(struct emu_world *w)
{
	struct emu_config *c = &w->config;

	*c = w->fab->config;
	return c->profile < EMU_PROFILES && c->latency_ns <= TIME_MOST &&
	       c->bandwidth_bps <= BANDWIDTH_MOST && c->rnr_timer_ns <= TIME_MOST &&
	       c->poll_quantum_ns <= TIME_MOST && c->retry_timer_ns >= 1 &&
	       c->retry_timer_ns <= TIME_MOST && c->mtu >= EMU_MTU_LEAST && c->mtu <= MTU_MOST &&
	       c->rnr_retry <= RETRIES_MOST && c->retry <= RETRIES_MOST &&
	       c->addresses <= ADDRESSES_MOST && c->trace_bytes <= EMU_TRACE_BYTES &&
	       emu_ring_is_valid(c->trace_ring) && nic_hostile_is_valid(c->hostile);
}
