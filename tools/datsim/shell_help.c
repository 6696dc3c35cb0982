/* SPDX-License-Identifier: BSD-3-Clause */
/* `help CALL` of the shell: what a call does, its parameters with their types and usual values. */
#include "shell.h"

#include <stdio.h>
#include <string.h>

#define NAMES_WIDTH 66 /* of a list of names, in columns */

/* A list of names, in lines of their own where one is not enough. */
struct listing {
	struct text text;
	size_t column;
};

static void list_name(void *context, const char *name)
{
	struct listing *listing = context;
	size_t n = strlen(name);

	if (listing->column && listing->column + n + 2 > NAMES_WIDTH) {
		text_add(&listing->text, ",\n%28s", "");
		listing->column = 0;
	} else if (listing->column) {
		text_add(&listing->text, ", ");
		listing->column += 2;
	}
	text_add(&listing->text, "%s", name);
	listing->column += n;
}

static void print_listing(struct listing *listing)
{
	if (listing->text.length)
		printf("%28s%s\n", "", text_of(&listing->text));
	text_free(&listing->text);
}

static void print_fields(const struct layout *layout)
{
	struct listing listing = { .column = 0 };
	const struct member *member;

	for (member = layout ? layout->members : NULL; member && member->name; member++)
		list_name(&listing, member->name);
	print_listing(&listing);
}

static void print_constants(enum group_id group)
{
	struct listing listing = { .column = 0 };

	group_each(group, list_name, &listing);
	print_listing(&listing);
}

static const char *const kinds[] = {
	[PARAM_NUMBER] = "a number",
	[PARAM_TIMEOUT] = "a time such as 5us, or microseconds",
	[PARAM_STRUCT] = "{field=value, ...}",
	[PARAM_MASK_OF_STRUCT] = "a mask; usually that of the fields given",
	[PARAM_SEGMENT_COUNT] = "a number; usually that of the segments",
	[PARAM_SEGMENTS] = "64, [64 0 32] or [{mem=m offset=0 length=64}]",
	[PARAM_SPAN] = "64, [64 0 32] or [{mem=m offset=0 length=64}]",
	[PARAM_LENGTH] = "a number; usually that of the segments",
	[PARAM_TRIPLET] = "64 or {mem=m offset=0 length=64}",
	[PARAM_REMOTE] = "b.mem, {mem=b.mem offset=0} or {rmr=b.w offset=0}",
	[PARAM_COOKIE] = "a number; usually the tool's own",
	[PARAM_CONTEXT] = "a number",
	[PARAM_NAME] = "the name of an adapter",
	[PARAM_ADDRESS] = "an actor, or \"203.0.113.9\"",
	[PARAM_DATA_SIZE] = "a number; usually that of the private data",
	[PARAM_DATA] = "a text, or NULL",
	[PARAM_REGION] = "an LMR whose memory it is, or a text; usually new memory",
	[PARAM_AGENT] = "a number that names the agent, or NULL",
	[PARAM_EVENT] = "a number, or NULL",
	[PARAM_PROVIDER] = "the tool's own, or NULL",
	[PARAM_OUT_NUMBER] = "gives a number",
	[PARAM_OUT_STRUCT] = "gives {field=value, ...}",
	[PARAM_OUT_TEXT] = "gives a text",
	[PARAM_OUT_LIST] = "gives {field=value, ...}, of the first one",
	[PARAM_OUT_EVENT] = "gives an event",
};

/* Are its constants worth a list? */
static bool has_names(const struct param *param)
{
	return param->group != GROUP_NONE && param->group != GROUP_COUNT &&
	       param->group != GROUP_RESULT;
}

static void print_type(const struct param *param)
{
	struct text type = { 0 };
	bool gives = param->kind == PARAM_OUT_HANDLE || param->kind == PARAM_INOUT_HANDLE;

	if (param->kind == PARAM_NUMBER && has_names(param)) {
		printf("a number, or of these");
		return;
	}
	if (param->kind != PARAM_HANDLE && !gives) {
		printf("%s", kinds[param->kind]);
		return;
	}
	if (param->type < 0)
		text_add(&type, "object");
	else
		group_print(&type, GROUP_HANDLE_TYPE, (uint64_t)param->type, false, sizeof(int));
	printf("%s%s", gives ? "gives the handle of: " : "the name of: ", text_of(&type));
	text_free(&type);
}

static void print_usual(const struct param *param)
{
	struct text usual = { 0 };

	if (!param->optional || param_is_output(param))
		return;
	if (param->kind == PARAM_NUMBER || param->kind == PARAM_TIMEOUT)
		group_print(&usual, param->kind == PARAM_TIMEOUT ? GROUP_TIMEOUT : param->group,
			    param->standard, param->is_signed, sizeof(uint32_t));
	else if (param->kind == PARAM_HANDLE)
		text_add(&usual, "NULL");
	if (usual.length)
		printf("; usually %s", text_of(&usual));
	text_free(&usual);
}

static void print_param(const struct param *param)
{
	printf("  %-25s ", param->name);
	print_type(param);
	print_usual(param);
	puts(param->named_only ? "; only as name=value" : "");
	print_fields(param->layout);
	if (has_names(param))
		print_constants(param->group);
}

static void no_such_call(const char *name)
{
	struct suggest suggest;
	struct diag diag = { .source = NULL };

	printf("expected a call such as dat_ep_post_send, found \"%s\"; `calls` lists them\n",
	       name);
	suggest_start(&suggest, name, (int)strlen(name));
	call_suggest(&suggest);
	diag_suggest(&diag, &suggest);
	fputs(text_of(&diag.text), stdout);
	text_free(&diag.text);
}

void shell_help_call(const char *name)
{
	const struct call_row *row = call_find(name);
	const struct param *param;

	if (!row) {
		no_such_call(name);
		return;
	}
	printf("%s: %s\n", row->name, call_line(row));
	for (param = row->params; param->kind != PARAM_END; param++)
		print_param(param);
	printf("More: man 3 %s\n", row->name);
}
