/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the constants of a group by their short names, for help and completion. */
#include <string.h>

#include "values.h"

/* The longest prefix of the group that the name has. */
static size_t prefix_length(const struct group *group, const char *name)
{
	size_t i, n, longest = 0;

	for (i = 0; i < ARRAY_SIZE(group->prefixes) && group->prefixes[i]; i++) {
		n = strlen(group->prefixes[i]);
		if (n > longest && !strncmp(name, group->prefixes[i], n) && name[n])
			longest = n;
	}
	return longest;
}

void group_each(enum group_id id, void (*each)(void *context, const char *name), void *context)
{
	const struct group *group = group_of(id);
	size_t n, suffix = group && group->suffix ? strlen(group->suffix) : 0;
	const struct named *named;
	struct text name = { 0 };
	const char *s;

	for (named = group ? group->names : NULL; named && named->name; named++) {
		s = named->name + prefix_length(group, named->name);
		n = strlen(s);
		if (suffix && n > suffix && !strcmp(s + n - suffix, group->suffix))
			n -= suffix;
		name.length = 0;
		text_append(&name, s, n);
		each(context, text_of(&name));
	}
	text_free(&name);
}
