/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder of failures: all of them, and one more. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct entry *store_add(struct store *store, struct entry *entry)
{
	store->list = mem_grow(store->list, (store->count + 1) * sizeof(*store->list));
	store->list[store->count] = *entry;
	return &store->list[store->count++];
}

/* Read one file. False: *error says why, or there is no such file. */
static bool read_entry(const struct store *store, const char *name, struct entry *entry,
		       struct text *error)
{
	struct text content = { 0 }, path = { 0 };
	bool good = store_read(store, name, &content, error);

	text_add(&path, "%s/%s", store->dir, name);
	if (good)
		good = entry_parse(entry, text_of(&path), name, &content, error);
	else
		memset(entry, 0, sizeof(*entry));
	if (!good)
		entry_free(entry);
	text_free(&path);
	text_free(&content);
	return good;
}

static bool take_file(struct store *store, const char *name, void *ctx)
{
	struct text error = { 0 };
	struct entry entry;
	bool good = store->count < STORE_MOST;

	(void)ctx;
	if (!good)
		text_add(&error, "%s: expected at most %d failures\n", store->dir, STORE_MOST);
	else if (read_entry(store, name, &entry, &error))
		store_add(store, &entry);
	else
		good = !error.length; /* removed a moment ago: not there */
	fputs(text_of(&error), stderr);
	text_free(&error);
	return good;
}

bool store_open(struct store *store, const char *dir, bool make)
{
	*store = (struct store){ .dir = dir };
	if (make && mkdir(dir, 0777) && errno != EEXIST) {
		fprintf(stderr, "datsim: cannot make the folder %s: %s\n", dir, strerror(errno));
		store->fd = -1;
		return false;
	}
	store->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store->fd < 0) {
		fprintf(stderr, "datsim: expected a folder of failures, %s: %s\n", dir,
			strerror(errno));
		return false;
	}
	return store_each(store, ".dsim", take_file, NULL);
}

void store_close(struct store *store)
{
	for (size_t i = 0; i < store->count; i++)
		entry_free(&store->list[i]);
	free(store->list);
	if (store->fd >= 0)
		close(store->fd);
	*store = (struct store){ .fd = -1 };
}

struct entry *store_find(struct store *store, const char *name)
{
	for (size_t i = 0; i < store->count; i++) {
		if (!strcmp(text_of(&store->list[i].name), name))
			return &store->list[i];
	}
	return NULL;
}

static bool write_entry(const struct store *store, const struct entry *entry)
{
	struct text content = { 0 }, name = { 0 };
	bool good;

	text_add(&name, "%s.dsim", text_of(&entry->name));
	entry_format(store, entry, &content);
	good = store_write(store, text_of(&name), &content);
	text_free(&content);
	text_free(&name);
	return good;
}

/* Another process may have found the same: which of both is in the folder afterwards? */
static bool settle_file(struct store *store, struct entry *entry, bool *fresh)
{
	struct text name = { 0 }, error = { 0 };
	struct entry other;
	bool good = true;

	if (store->fd < 0) {
		*fresh = !store_find(store, text_of(&entry->name));
		return true;
	}
	text_add(&name, "%s.dsim", text_of(&entry->name));
	*fresh = !read_entry(store, text_of(&name), &other, &error);
	if (*fresh)
		memset(&other, 0, sizeof(other));
	if (error.length) {
		fputs(text_of(&error), stderr);
		good = false;
	} else if (*fresh || entry_is_better(entry, &other)) {
		good = write_entry(store, entry);
		entry_free(&other);
	} else {
		entry_free(entry);
		*entry = other;
	}
	text_free(&error);
	text_free(&name);
	return good;
}

struct entry *store_put(struct store *store, struct entry *entry, bool *fresh)
{
	struct entry *known;
	uint64_t count;
	bool stale;

	entry_name(entry);
	known = store_find(store, text_of(&entry->name));
	*fresh = false;
	if (store->fd < 0 && known && !entry_is_better(entry, known)) {
		entry_free(entry);
		return known;
	}
	/* A script that does not fail any more gives way, however short it is. */
	stale = known && known->state != ENTRY_NEW && known->state != ENTRY_FAILS &&
		known->state != ENTRY_KNOWN;
	if (stale ? !write_entry(store, entry) : !settle_file(store, entry, fresh))
		store->unwritten++;
	if (!known) {
		entry->state = *fresh ? ENTRY_NEW : ENTRY_FAILS;
		return store_add(store, entry);
	}
	count = known->count;
	entry->state = stale ? ENTRY_FAILS : known->state;
	entry_free(known);
	*known = *entry;
	known->count = count;
	return known;
}

void store_remove(struct store *store, struct entry *entry)
{
	struct text name = { 0 };

	text_add(&name, "%s.dsim", text_of(&entry->name));
	unlinkat(store->fd, text_of(&name), 0);
	text_free(&name);
	entry_free(entry);
	*entry = store->list[--store->count];
}

struct entry *store_match(struct store *store, const char *target, const char *ending,
			  const char *shape, size_t *from)
{
	for (; *from < store->count; ++*from) {
		struct entry *entry = &store->list[*from];

		if ((entry->state == ENTRY_NEW || entry->state == ENTRY_FAILS) &&
		    !strcmp(text_of(&entry->target), target) &&
		    !strcmp(text_of(&entry->ending), ending) &&
		    shape_has(shape, text_of(&entry->shape)))
			return entry;
	}
	return NULL;
}
