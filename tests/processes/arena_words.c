/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The words of the structures of an arena that are in use, and the values that they are set to: 0,
 * 1, the maximum, the index of their own entry, that of its neighbour, the neighbour's word.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "emu/shared/shared.h"

#define VALUES 6u

/* Entries of a table, or one structure. */
struct part {
	const char *name;
	size_t from, stride;
	uint32_t first, entries; /* index of the first entry */
	size_t words;            /* of all entries */
};

static struct {
	uint8_t *arena;
	struct part part[64];
	uint32_t parts;
	uint64_t words;
	uint32_t *at, old, new; /* the word that is set */
} state;

static void add_part(const char *name, size_t from, size_t stride, uint32_t first, uint32_t entries)
{
	struct part *part = &state.part[state.parts++];

	*part = (struct part){ name, from, stride, first, entries, entries * stride / 4 };
	state.words += part->words;
}

#define FIELD(field) offsetof(struct emu_fabric, field)
#define ONE(field)   add_part(#field, FIELD(field), sizeof(fab->field), 0, 1)
#define TABLE(table, field) \
	add_part(#field, FIELD(field[1]), sizeof(fab->field[0]), 1, fab->table.high + 1)

static void list_parts(const struct emu_fabric *fab)
{
	state.parts = 0;
	state.words = 0;
	add_part("size", 0, FIELD(listen_hash), 0, 1);
	add_part("adapters", FIELD(adapters), sizeof(fab->adapters[0]), 0, 4);
	TABLE(links, link);
	for (uint32_t i = 0; i < EMU_LISTEN_BUCKETS; i++)
		if (fab->listen_hash[i])
			add_part("listen_hash", FIELD(listen_hash[i]), 4, i, 1);
	add_part("rule", FIELD(rule), sizeof(fab->rule[0]), 0, 1);
	add_part("trace_room", FIELD(trace_room), FIELD(adapters) - FIELD(trace_room), 0, 1);
	TABLE(pds, pd);
	TABLE(mrs, mr);
	TABLE(mws, mw);
	TABLE(cqs, cq);
	TABLE(srqs, srq);
	TABLE(qps, qp);
	TABLE(qps, path);
	ONE(members);
	add_part("member", FIELD(member), sizeof(fab->member[0]), 0, 4);
	TABLE(listeners, listener);
	TABLE(conns, conn);
	add_part("shared", FIELD(shared), FIELD(shared.section) - FIELD(shared), 0, 1);
	ONE(shared.section);
	add_part("stage", FIELD(shared.stage), sizeof(struct emu_stage), 0, 3);
	ONE(shared.split);
	add_part("process", FIELD(shared.process), sizeof(struct emu_process), 0, 4);
	add_part("lockstep", FIELD(shared.lockstep),
		 FIELD(shared.lockstep.thread) - FIELD(shared.lockstep), 0, 1);
	ONE(shared.lockstep.handed);
	add_part("thread", FIELD(shared.lockstep.thread), sizeof(struct emu_thread), 0, 5);
	add_part("heap", FIELD(heap), sizeof(struct emu_event), 0, 8);
	add_part("pool", FIELD(pool), EMU_POOL_UNIT, 0, fab->pool_next);
}

bool arena_words_begin(void)
{
	char path[300];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/datsim/%s", getenv("XDG_RUNTIME_DIR"),
		 getenv("DATSIM_FABRIC"));
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return false;
	state.arena = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_NORESERVE, fd, 0);
	close(fd);
	if (state.arena == MAP_FAILED)
		return false;
	list_parts((const struct emu_fabric *)state.arena);
	return true;
}

uint64_t arena_words_trials(void)
{
	return state.words * VALUES;
}

/* splitmix64: the choice depends on seed and trial alone. */
static uint64_t choice_of(uint64_t seed, uint64_t trial, uint64_t n)
{
	uint64_t x = seed + (trial * 8 + n + 1) * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint32_t value_for(const struct part *part, size_t word, uint32_t kind)
{
	size_t at = part->from + word * 4;
	uint32_t own = part->first + (uint32_t)(word * 4 / part->stride), neighbour;

	memcpy(&neighbour, state.arena + at + part->stride, sizeof(neighbour));
	switch (kind) {
	case 0:
	case 1:
		return kind;
	case 2:
		return UINT32_MAX;
	case 3:
		return own;
	case 4:
		return own + 1;
	default:
		return neighbour;
	}
}

static void set_word(const struct part *part, size_t word, uint32_t kind)
{
	size_t in_entry = word * 4 % part->stride;

	state.new = value_for(part, word, kind);
	state.at = (uint32_t *)(void *)(state.arena + part->from + word * 4);
	state.old = __atomic_exchange_n(state.at, state.new, __ATOMIC_SEQ_CST);
	snprintf(arena_control->what, sizeof(arena_control->what), "%s[%zu] + %zu: %#x, was %#x",
		 part->name, part->first + word * 4 / part->stride, in_entry, state.new, state.old);
}

static void set_any(uint64_t trial)
{
	uint64_t seed = arena_control->seed;
	const struct part *part = &state.part[choice_of(seed, trial, 0) % state.parts];

	set_word(part, choice_of(seed, trial, 1) % part->words,
		 (uint32_t)(choice_of(seed, trial, 2) % VALUES));
}

void arena_word_set(uint64_t trial)
{
	uint64_t word = trial / VALUES;
	uint32_t i = 0;

	if (arena_control->seed) {
		set_any(trial);
		return;
	}
	while (i + 1 < state.parts && word >= state.part[i].words)
		word -= state.part[i++].words;
	if (word < state.part[i].words)
		set_word(&state.part[i], word, (uint32_t)(trial % VALUES));
}

void arena_word_restore(void)
{
	uint32_t expected = state.new;

	__atomic_compare_exchange_n(state.at, &expected, state.old, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_RELAXED);
}
