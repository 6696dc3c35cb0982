/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat_conf.c - parse the text of a dat.conf, line by line. dat_conf_file.c finds and reads the
 * file.
 */
#include <stdlib.h>
#include <string.h>

#include "dat_conf.h"
#include "host/say.h"

#define ERRORS_MAX  20
#define SHOWN_MAX   60 /* bytes of a field in an error message */
#define VERSION_MAX 65535ul

#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define MARK_SIZE       (sizeof(BYTE_ORDER_MARK) - 1)

/* ---- fields of a line ---- */

/*
 * The rest of a line. Fields are cut out in place: unquoting only shortens a field, and the byte
 * after a field is a separator that is no longer needed. *end is writable.
 */
struct cursor {
	char *at, *end;
	const char *problem;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static char *quoted_field(struct cursor *c)
{
	char *start = ++c->at, *to = start;

	while (c->at < c->end && *c->at != '"') {
		if (*c->at == '\\' && c->at + 1 < c->end && (c->at[1] == '"' || c->at[1] == '\\'))
			c->at++;
		*to++ = *c->at++;
	}
	if (c->at == c->end) {
		c->problem = "a closing quote";
		return NULL;
	}
	c->at++;
	if (c->at < c->end && !is_blank(*c->at) && *c->at != '#') {
		c->problem = "a blank behind the closing quote";
		return NULL;
	}
	*to = '\0';
	return start;
}

static char *bare_field(struct cursor *c)
{
	char *start = c->at;

	while (c->at < c->end && !is_blank(*c->at) && *c->at != '#' && *c->at != '"')
		c->at++;
	if (c->at < c->end && *c->at == '"') {
		c->problem = "a blank before the opening quote";
		return NULL;
	}
	if (c->at < c->end && *c->at == '#')
		c->end = c->at;
	*c->at = '\0';
	if (c->at < c->end)
		c->at++;
	return start;
}

/* The next field. NULL: the end of the line, or an error if `problem` is set. */
static char *next_field(struct cursor *c)
{
	while (c->at < c->end && is_blank(*c->at))
		c->at++;
	if (c->at == c->end || *c->at == '#')
		return NULL;
	return *c->at == '"' ? quoted_field(c) : bare_field(c);
}

/* ---- parsers of fields: NULL, or what was expected ---- */

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == '\x7f')
			return false;
	return true;
}

/* "12.3", to the end of the text */
static bool read_version(const char *text, DAT_UINT32 *major, DAT_UINT32 *minor)
{
	DAT_UINT32 *const parts[] = { major, minor };
	unsigned long value;
	char *end;

	for (int i = 0; i < 2; i++) {
		if (*text < '0' || *text > '9')
			return false;
		value = strtoul(text, &end, 10);
		if (value > VERSION_MAX || *end != (i == 0 ? '.' : '\0'))
			return false;
		*parts[i] = (DAT_UINT32)value;
		text = end + 1;
	}
	return true;
}

static const char *take_name(struct dat_conf_entry *entry, const char *text)
{
	size_t length = strlen(text);

	if (length == 0 || length >= sizeof(entry->info.ia_name) || !is_printable(text))
		return "1 to 255 printable characters";
	memcpy(entry->info.ia_name, text, length + 1);
	return NULL;
}

static const char *take_api(struct dat_conf_entry *entry, const char *text)
{
	if ((*text != 'u' && *text != 'k') ||
	    !read_version(text + 1, &entry->info.dapl_version_major,
			  &entry->info.dapl_version_minor))
		return "u or k and a version, such as u1.2";
	entry->kernel = *text == 'k';
	return NULL;
}

static const char *take_threads(struct dat_conf_entry *entry, const char *text)
{
	bool safe = strcmp(text, "threadsafe") == 0;

	if (!safe && strcmp(text, "nonthreadsafe") != 0)
		return "threadsafe or nonthreadsafe";
	entry->info.is_thread_safe = safe ? DAT_TRUE : DAT_FALSE;
	return NULL;
}

static const char *take_default(struct dat_conf_entry *entry, const char *text)
{
	entry->is_default = strcmp(text, "default") == 0;
	return entry->is_default || strcmp(text, "nondefault") == 0 ? NULL
								    : "default or nondefault";
}

/* True for the file names under which this library is installed, in any folder. */
static bool dat_conf_is_ours(const char *library)
{
	const char *slash = strrchr(library, '/'), *name = slash ? slash + 1 : library;
	const size_t length = sizeof("libdat.so") - 1;

	return *library == '\0' || (strncmp(name, "libdat.so", length) == 0 &&
				    (name[length] == '\0' || name[length] == '.'));
}

static const char *take_library(struct dat_conf_entry *entry, const char *text)
{
	entry->ours = dat_conf_is_ours(text);
	entry->library = strdup(text);
	return NULL;
}

static const char *take_version(struct dat_conf_entry *entry, const char *text)
{
	const char *version = strchr(text, '.');
	DAT_UINT32 major, minor;

	(void)entry;
	if (read_version(text, &major, &minor))
		return NULL;
	if (!version || version == text || !read_version(version + 1, &major, &minor))
		return "company and version, such as dapl.1.2";
	return NULL;
}

static const char *take_instance_data(struct dat_conf_entry *entry, const char *text)
{
	size_t length = strlen(text);

	if (entry->ours && (length == 0 || length >= DAT_NAME_MAX_LENGTH || strchr(text, ' ') ||
			    !is_printable(text)))
		return "the name of one adapter of this library, such as emu0";
	entry->instance_data = strdup(text);
	return NULL;
}

static const char *take_platform(struct dat_conf_entry *entry, const char *text)
{
	(void)entry;
	(void)text;
	return NULL;
}

static const struct {
	const char *name;
	const char *expected;
	const char *(*take)(struct dat_conf_entry *entry, const char *text);
} fields[] = {
	{ "adapter name", "a name", take_name },
	{ "API version", "u or k and a version, such as u1.2", take_api },
	{ "thread safety", "threadsafe or nonthreadsafe", take_threads },
	{ "default or not", "default or nondefault", take_default },
	{ "library", "a library, or \"\" for this one", take_library },
	{ "provider version", "company and version, such as dapl.1.2", take_version },
	{ "instance data", "a string, such as \"\"", take_instance_data },
	{ "platform parameters", "a string, or nothing", take_platform },
};

#define FIELDS          (sizeof(fields) / sizeof(fields[0]))
#define FIELDS_REQUIRED (FIELDS - 1)

/* ---- error messages ---- */

/* The line that an error message refers to; `conf` counts the messages. */
struct place {
	struct dat_conf *conf;
	unsigned int line;
};

/*
 * The text found, printable on a terminal: quoted, control characters replaced, truncation marked.
 */
static const char *quoted_excerpt(const char *text, char *out)
{
	size_t n = 0;

	out[n++] = '"';
	for (; *text && n <= SHOWN_MAX; text++)
		out[n++] = (unsigned char)*text < ' ' || *text == '\x7f' ? '?' : *text;
	strcpy(out + n, *text ? "\"..." : "\"");
	return out;
}

static void line_error(struct place place, size_t field, const char *expected, const char *found)
{
	char buffer[SHOWN_MAX + 8];

	if (++place.conf->skipped > ERRORS_MAX)
		return;
	say("%s:%u: field %zu, %s: expected %s, found %s; the line is skipped: correct it or "
	    "remove it",
	    place.conf->path, place.line, field + 1,
	    field < FIELDS ? fields[field].name : "one too many", expected,
	    found ? quoted_excerpt(found, buffer) : "the end of the line");
}

/* ---- lines ---- */

static void entry_free(struct dat_conf_entry *entry)
{
	free(entry->library);
	free(entry->instance_data);
	free(entry);
}

/*
 * Fill `entry` from the fields. False: an error was reported. *found tells whether the line has any
 * fields.
 */
static bool take_fields(struct place place, struct cursor *c, struct dat_conf_entry *entry,
			bool *found)
{
	for (size_t i = 0; i <= FIELDS; i++) {
		const char *rest = c->at, *expected;
		char *field = next_field(c);

		if (!field && !c->problem) {
			*found = i > 0;
			if (i == 0 || i >= FIELDS_REQUIRED)
				return true;
			line_error(place, i, fields[i].expected, NULL);
			return false;
		}
		*found = true;
		if (!field)
			expected = c->problem, field = (char *)rest;
		else
			expected = i < FIELDS ? fields[i].take(entry, field) : "no more fields";
		if (expected) {
			*c->end = '\0'; /* terminates the rest of the line */
			line_error(place, i, expected, field);
			return false;
		}
	}
	return true;
}

/* False: out of memory. */
static bool parse_line(struct place place, char *line, char *end)
{
	struct cursor c = { .at = line, .end = end };
	struct dat_conf_entry *entry = calloc(1, sizeof(*entry));
	bool found, good;

	if (!entry)
		return false;
	entry->line = place.line;
	if (memchr(line, '\0', (size_t)(end - line))) {
		line_error(place, 0, "a line without NUL bytes", line);
		entry_free(entry);
		return true;
	}
	good = take_fields(place, &c, entry, &found);
	if (good && found)
		place.conf->lines++;
	if (!good || !found || entry->kernel) {
		entry_free(entry);
		return true;
	}
	TAILQ_INSERT_TAIL(&place.conf->entries, entry, link);
	return entry->library && entry->instance_data;
}

struct dat_conf *dat_conf_parse(const char *path, char *text, size_t length)
{
	struct dat_conf *conf = calloc(1, sizeof(*conf));
	char *end = text + length, *line_end;

	if (!conf)
		return NULL;
	TAILQ_INIT(&conf->entries);
	conf->path = strdup(path);
	if (!conf->path)
		goto free_conf;
	/* Some editors begin a file with a byte order mark. */
	if (length >= MARK_SIZE && memcmp(text, BYTE_ORDER_MARK, MARK_SIZE) == 0)
		text += MARK_SIZE;
	for (unsigned int line = 1; text < end; line++, text = line_end + 1) {
		line_end = memchr(text, '\n', (size_t)(end - text));
		if (!line_end)
			line_end = end;
		if (!parse_line((struct place){ conf, line }, text, line_end))
			goto free_conf;
	}
	if (conf->skipped > ERRORS_MAX)
		say("%s: %d more malformed lines are skipped", path, conf->skipped - ERRORS_MAX);
	return conf;

free_conf:
	dat_conf_free(conf);
	return NULL;
}

void dat_conf_free(struct dat_conf *conf)
{
	struct dat_conf_entry *entry;

	if (!conf)
		return;
	while ((entry = TAILQ_FIRST(&conf->entries))) {
		TAILQ_REMOVE(&conf->entries, entry, link);
		entry_free(entry);
	}
	free(conf->path);
	free(conf);
}
