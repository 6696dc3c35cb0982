/* SPDX-License-Identifier: BSD-3-Clause */
/* json.h - writes a JSON text, indented. Strings may have any bytes; those that are no UTF-8 become
 * '?'. */
#ifndef DATSIM_JSON_H
#define DATSIM_JSON_H

#include "tools/datsim/util.h"

struct json {
	struct text text;
	int depth;
	bool filled; /* the innermost object or list has something */
};

/* `key` is NULL in a list, and for the whole text. */
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);
void json_string(struct json *json, const char *key, const char *value);
void json_number(struct json *json, const char *key, uint64_t value);
/* With three digits behind the point. */
void json_real(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);

#endif
