/* SPDX-License-Identifier: BSD-3-Clause */
/* Shortens scripts of a store that were kept as they were found: merge.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge.h"
#include "tools/datsim/commands.h"

static void copy_text(struct text *to, const struct text *from)
{
	text_append(to, text_of(from), from->length);
}

/* The same failure by other lines. */
static void make_fresh(const struct entry *entry, const struct lines *lines, uint64_t seed,
		       struct entry *fresh)
{
	*fresh = (struct entry){ .schedule = entry->schedule,
				 .seed = entry->seed,
				 .fabric_seed = seed,
				 .is_script = true,
				 .shrunk = true,
				 .repeats = true };
	copy_text(&fresh->target, &entry->target);
	copy_text(&fresh->ending, &entry->ending);
	copy_text(&fresh->says, &entry->says);
	copy_text(&fresh->version, &entry->version);
	signature_shape(&fresh->shape, lines);
	lines_join(lines, true, &fresh->lines);
	text_add(&fresh->before, "datsim test --seed %llu ", (unsigned long long)seed);
	entry_find_faults(fresh, lines);
	entry_name(fresh);
}

/* False: it does not fail here as it says. */
static bool fails_as_it_says(const struct entry *entry, struct verdict *verdict)
{
	struct options options = { .has_seed = true, .seed = entry->fabric_seed, .untraced = true };
	struct text ending = { 0 };
	bool good;

	run_text(text_of(&entry->name), text_of(&entry->lines), entry->lines.length, &options,
		 verdict);
	signature_verdict(&ending, verdict);
	good = verdict->code != EXIT_PASS && !strcmp(text_of(&ending), text_of(&entry->ending));
	text_free(&ending);
	return good;
}

/* Puts a shorter one beside it, or in its place. */
static bool shorten_script(struct store *store, const char *name, const struct verdict *verdict)
{
	struct entry *entry = store_find(store, name);
	uint64_t seed = entry->fabric_seed;
	struct entry fresh;
	struct lines lines;
	struct shrinking shrinking = { .lines = &lines };
	bool is_new, good;

	entry_lines(entry, &lines);
	shrink_script(&shrinking, name, verdict, &seed);
	make_fresh(entry, &lines, seed, &fresh);
	printf("%s.dsim is shrunk: %zu line%s, %s.dsim\n", name, lines.count,
	       lines.count == 1 ? "" : "s", text_of(&fresh.name));
	good = position_rename(store, name, text_of(&fresh.name)) &&
	       store_put(store, &fresh, &is_new) && !store->unwritten;
	entry = store_find(store, name);
	if (good && entry && !entry->shrunk)
		store_remove(store, entry);
	lines_free(&lines);
	return good;
}

bool merge_scripts(struct store *store)
{
	struct verdict verdict;
	bool good = true;
	size_t i = 0;

	while (good && i < store->count) {
		const struct entry *entry = &store->list[i];
		struct text name = { 0 };

		if (!entry->is_script || entry->shrunk) {
			i++;
			continue;
		}
		text_add(&name, "%s", text_of(&entry->name));
		if (fails_as_it_says(entry, &verdict)) {
			good = shorten_script(store, text_of(&name), &verdict);
		} else {
			printf("%s.dsim is not shrunk: it does not fail in its way here\n",
			       text_of(&name));
			i++;
		}
		verdict_free(&verdict);
		text_free(&name);
	}
	return good;
}
