/* SPDX-License-Identifier: BSD-3-Clause */
/* The links of a fabric, found by their two adapters: links.h. */
#include "links.h"

#include <string.h>

#include "emu/fabric/arena.h"

#define PLACES_LEAST 64u
#define SPARE_PLACES 4u /* in a new table, for each link */

/* A place of the table in the pool, all in one word; 0: it is free. */
static uint64_t place_of(uint16_t from, uint16_t to, uint32_t index)
{
	return (uint64_t)from << 48 | (uint64_t)to << 32 | index;
}

static uint32_t hash_of(uint16_t from, uint16_t to)
{
	uint32_t x = (uint32_t)from << 16 | to;

	return (x * 0x9e3779b1u) >> 8;
}

size_t emu_links_bytes(const struct emu_fabric *fab)
{
	return ((size_t)fab->link_mask + 1) * sizeof(uint64_t);
}

/* The place of a link, or the free one where it belongs; NULL: the arena is damaged. */
static uint64_t *find_place(struct emu_world *w, uint16_t from, uint16_t to)
{
	struct emu_fabric *fab = w->fab;
	uint64_t *places = emu_at(w, fab->link_places);
	uint32_t at = hash_of(from, to);

	for (uint32_t n = 0; n <= fab->link_mask && emu_go_on(w); n++, at++) {
		uint64_t *place = &places[at & fab->link_mask];

		if (!*place || *place >> 32 == place_of(from, to, 0) >> 32)
			return place;
	}
	return NULL;
}

/* A link that was used while other adapters had these two entries is a new one. */
static bool is_of_these(const struct emu_fabric *fab, const struct emu_link *link)
{
	return link->generation[0] == EMU_AT(fab->adapters, link->from).generation &&
	       link->generation[1] == EMU_AT(fab->adapters, link->to).generation;
}

uint32_t emu_link_find(struct emu_world *w, uint16_t from, uint16_t to)
{
	const uint64_t *place = w->fab->link_places ? find_place(w, from, to) : NULL;
	uint32_t index = place ? (uint32_t)*place : 0;

	if (index > EMU_LINKS || !is_of_these(w->fab, emu_link_at(w, index)))
		return 0;
	return index;
}

/* ---- making a link ---- */

void emu_link_init(struct emu_link *link, uint64_t latency_ns, uint64_t bandwidth_bps)
{
	unsigned __int128 per_byte = (unsigned __int128)8000000000u << 32;

	link->latency_ns = latency_ns;
	link->bandwidth_bps = bandwidth_bps;
	link->ns_per_byte = 0;
	if (bandwidth_bps == 0)
		return;
	per_byte = (per_byte + bandwidth_bps - 1) / bandwidth_bps;
	link->ns_per_byte = per_byte > UINT64_MAX ? UINT64_MAX : (uint64_t)per_byte;
}

/* Lists of held packets stay: only emu_link_forget ends a hold, and it empties them. */
static void make_fresh(struct emu_world *w, struct emu_link *link)
{
	emu_link_init(link, w->config.latency_ns, w->config.bandwidth_bps);
	link->generation[0] = EMU_AT(w->fab->adapters, link->from).generation;
	link->generation[1] = EMU_AT(w->fab->adapters, link->to).generation;
	link->not_before = link->busy_until = link->late = 0;
	link->down = false;
}

static uint32_t make_link(struct emu_world *w, uint16_t from, uint16_t to)
{
	uint32_t index = EMU_TAKE(w, links, link, EMU_LINKS);
	struct emu_link *link = emu_link_at(w, index);
	uint64_t *place = index ? find_place(w, from, to) : NULL;

	if (!place)
		return 0;
	*link = (struct emu_link){ .head = link->head, .from = from, .to = to, .back = index };
	make_fresh(w, link);
	EMU_LIVE(w->fab, links, link);
	*place = place_of(from, to, index);
	return index;
}

static void drop_link(struct emu_world *w, uint32_t index)
{
	EMU_FREE(w->fab, links, link, index);
}

static uint32_t make_pair(struct emu_world *w, uint16_t from, uint16_t to)
{
	uint32_t forth = make_link(w, from, to), back;

	if (!forth || from == to)
		return forth;
	back = make_link(w, to, from);
	if (!back) {
		*find_place(w, from, to) = 0; /* it was the last one made: nothing lies behind */
		drop_link(w, forth);
		return 0;
	}
	emu_link_at(w, forth)->back = back;
	emu_link_at(w, back)->back = forth;
	return forth;
}

/* ---- dropping unused links ---- */

static bool is_default(const struct emu_world *w, const struct emu_link *link)
{
	uint64_t now = w->fab->now;

	return !link->down && !link->holding && !link->held && link->late <= now &&
	       link->busy_until <= now && link->not_before <= now &&
	       link->latency_ns == w->config.latency_ns &&
	       link->bandwidth_bps == w->config.bandwidth_bps;
}

static void mark_used(struct emu_world *w)
{
	struct emu_fabric *fab = w->fab;

	for (uint32_t i = 1; i <= EMU_HIGH(fab, links, link) && emu_go_on(w); i++)
		fab->link[i].used = !is_default(w, &fab->link[i]);
	for (uint32_t i = 1; i <= EMU_HIGH(fab, qps, qp) && emu_go_on(w); i++)
		if (fab->qp[i].head.live && fab->qp[i].link <= EMU_LINKS)
			emu_link_at(w, fab->qp[i].link)->used = true;
}

static void drop_unused(struct emu_world *w)
{
	struct emu_fabric *fab = w->fab;

	mark_used(w);
	for (uint32_t i = 1; i <= EMU_HIGH(fab, links, link) && emu_go_on(w); i++)
		if (fab->link[i].head.live && !fab->link[i].used &&
		    !emu_link_at(w, fab->link[i].back)->used)
			drop_link(w, i);
}

/* A table with room for twice the links that are left, so that the next one is far off. */
static bool make_table(struct emu_world *w)
{
	struct emu_fabric *fab = w->fab;
	uint64_t wanted = (uint64_t)fab->links.live * SPARE_PLACES;
	uint32_t places = PLACES_LEAST;
	emu_ref ref;

	while (places < wanted && places <= EMU_LINKS * 2)
		places *= 2;
	ref = emu_pool_alloc(w, places * sizeof(uint64_t));
	if (!ref)
		return false;
	memset(emu_at(w, ref), 0, places * sizeof(uint64_t));
	if (fab->link_places)
		emu_pool_free(fab, fab->link_places, emu_links_bytes(fab));
	fab->link_places = ref;
	fab->link_mask = places - 1;
	return true;
}

static void fill_table(struct emu_world *w)
{
	struct emu_fabric *fab = w->fab;

	for (uint32_t i = 1; i <= EMU_HIGH(fab, links, link) && emu_go_on(w); i++) {
		const struct emu_link *link = &fab->link[i];
		uint64_t *place = link->head.live ? find_place(w, link->from, link->to) : NULL;

		if (place && !*place)
			*place = place_of(link->from, link->to, i);
	}
}

void emu_links_rebuild(struct emu_world *w)
{
	drop_unused(w);
	if (make_table(w))
		fill_table(w);
}

static bool has_room(const struct emu_fabric *fab)
{
	return fab->link_places && fab->links.live * 2 + 2 <= fab->link_mask;
}

uint32_t emu_link_get(struct emu_world *w, uint16_t from, uint16_t to)
{
	struct emu_fabric *fab = w->fab;
	const uint64_t *place = fab->link_places ? find_place(w, from, to) : NULL;
	uint32_t index = place ? (uint32_t)*place : 0;

	if (index && index <= EMU_LINKS) {
		if (!is_of_these(fab, emu_link_at(w, index)))
			make_fresh(w, emu_link_at(w, index));
		return index;
	}
	if (!has_room(fab))
		emu_links_rebuild(w);
	return has_room(fab) ? make_pair(w, from, to) : 0;
}

void emu_links_begin(struct emu_world *w)
{
	emu_link_init(&w->fab->link[0], w->config.latency_ns, w->config.bandwidth_bps);
}
