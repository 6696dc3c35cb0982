/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes JSON: json.h. */
#include "json.h"

#include <string.h>

static void add_quoted(struct json *json, const char *value)
{
	struct text plain = { 0 };
	const char *p;

	text_printable(&plain, value, strlen(value));
	text_append(&json->text, "\"", 1);
	for (p = text_of(&plain); *p; p++) {
		if (*p == '"' || *p == '\\')
			text_add(&json->text, "\\%c", *p);
		else
			text_append(&json->text, p, 1);
	}
	text_append(&json->text, "\"", 1);
	text_free(&plain);
}

/* The comma, the indentation and the key of the next value. */
static void begin_value(struct json *json, const char *key)
{
	if (json->depth)
		text_add(&json->text, "%s\n%*s", json->filled ? "," : "", 2 * json->depth, "");
	json->filled = true;
	if (!key)
		return;
	add_quoted(json, key);
	text_add(&json->text, ": ");
}

void json_open(struct json *json, const char *key, char bracket)
{
	begin_value(json, key);
	text_append(&json->text, &bracket, 1);
	json->depth++;
	json->filled = false;
}

void json_close(struct json *json, char bracket)
{
	json->depth--;
	if (json->filled)
		text_add(&json->text, "\n%*s", 2 * json->depth, "");
	text_append(&json->text, &bracket, 1);
	json->filled = true;
	if (!json->depth)
		text_append(&json->text, "\n", 1);
}

void json_string(struct json *json, const char *key, const char *value)
{
	begin_value(json, key);
	add_quoted(json, value);
}

void json_number(struct json *json, const char *key, uint64_t value)
{
	begin_value(json, key);
	text_add(&json->text, "%llu", (unsigned long long)value);
}

void json_real(struct json *json, const char *key, double value)
{
	uint64_t thousandths = value > 0 ? (uint64_t)(value * 1000 + 0.5) : 0;

	/* printf with %f would write the decimal point of the locale. */
	begin_value(json, key);
	text_add(&json->text, "%llu.%03llu", (unsigned long long)(thousandths / 1000),
		 (unsigned long long)(thousandths % 1000));
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin_value(json, key);
	text_add(&json->text, value ? "true" : "false");
}
