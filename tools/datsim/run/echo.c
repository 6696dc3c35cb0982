/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints what a call returned, for the shell: its user did not say what to expect. */
#include "invoke.h"

#include <string.h>

#define ECHO_WIDTH 72 /* longer outputs have a line for each field */

static void add_separator(struct text *text, bool *first)
{
	if (!*first)
		text_append(text, "\n", 1); /* add_outputs makes blanks of them if it can */
	*first = false;
}

static void echo_members(struct text *text, const struct run *run, const struct layout *layout,
			 const void *base, bool *first)
{
	const struct member *member;

	for (member = layout->members; member && member->name; member++) {
		/*
		 * Addresses and numbers that the tool made up say nothing, unless the script gave
		 * them.
		 */
		if (!strcmp(member->name, "cookie") || member->silent)
			continue;
		add_separator(text, first);
		print_member(run, text, member, base);
	}
}

static void echo_event(struct text *text, const struct run *run, const DAT_EVENT *event,
		       bool *first)
{
	add_separator(text, first);
	group_print(text, GROUP_EVENT, event->event_number, false, sizeof(event->event_number));
	echo_members(text, run, layout_of_event(event->event_number), event, first);
}

static void echo_output(struct text *text, const struct invocation *inv, int i, bool *first)
{
	const struct param *param = &inv->call->row->params[i];
	const union storage *storage = &inv->storage[i];
	struct member whole = { .offset = 0, .size = param->size, .is_signed = param->is_signed };

	switch (param->kind) {
	case PARAM_OUT_NUMBER:
		add_separator(text, first);
		text_add(text, "%s=", param->name);
		group_print(text, param->group, member_get(&whole, storage), param->is_signed,
			    param->size);
		return;
	case PARAM_OUT_STRUCT:
		echo_members(text, inv->run, param->layout, storage, first);
		return;
	case PARAM_OUT_LIST:
		echo_members(text, inv->run, param->layout, inv->list[0], first);
		return;
	case PARAM_OUT_TEXT:
		add_separator(text, first);
		text_add(text, "%s=\"%s\"", param->name, storage->message);
		return;
	case PARAM_OUT_EVENT:
		echo_event(text, inv->run, &storage->event, first);
		return;
	default:
		return; /* a handle, which the script may name */
	}
}

/* The fields, which are lines, on one line if there is room. */
static void add_outputs(struct text *text, const struct text *fields)
{
	bool wraps = fields->length > ECHO_WIDTH;
	const char *p = text_of(fields), *nl;

	text_add(text, " -> {");
	while (*p) {
		nl = strchr(p, '\n');
		nl = nl ? nl : p + strlen(p);
		text_add(text, "%s%.*s", wraps ? "\n  " : "", (int)(nl - p), p);
		if (*nl && !wraps)
			text_add(text, " ");
		p = nl + (*nl == '\n');
	}
	text_add(text, wraps ? "\n}" : "}");
}

void echo_call(const struct invocation *inv, DAT_RETURN ret)
{
	struct text *text = inv->run->echo;
	struct text outputs = { 0 };
	const struct param *param;
	bool first = true;
	int i;

	text_add(text, "= ");
	text_result(text, ret);
	for (i = 0; (param = &inv->call->row->params[i])->kind != PARAM_END; i++) {
		if (inv->args[i].pointer && param_is_output(param) &&
		    (ret == DAT_SUCCESS || param->written_on_failure))
			echo_output(&outputs, inv, i, &first);
	}
	if (outputs.length)
		add_outputs(text, &outputs);
	text_add(text, "\n");
	text_free(&outputs);
}
