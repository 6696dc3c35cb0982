/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binds the names of libibverbs and librdmacm in a fault line. Only a script for a program has
 * them: the calls of other scripts are uDAPL's.
 */
#include "bind.h"

#include <string.h>

#include "names_verbs.h"

/* Of DAT_SIM_CALL_FAULT.completions: DAT has no atomics, so these bits are free. */
#define COMPLETION_ATOMIC (32u | 64u)

static bool refuse_name(struct binder *binder, const struct value *value, const char *what,
			const char *example, const struct suggest *suggest)
{
	struct diag *diag = &binder->script->diag;

	if (value->kind == VALUE_NAME)
		diag_add(diag, value->at, "expected %s, such as %s, found \"%s\"", what, example,
			 value->text);
	else
		diag_add(diag, value->at, "expected %s, such as %s", what, example);
	if (suggest)
		diag_suggest(diag, suggest);
	return false;
}

/* The calls of a script without a program are uDAPL's. */
static bool has_verbs(struct binder *binder, const struct value *value, struct fault *fault)
{
	fault->verbs = true;
	if (binder->script->for_program)
		return true;
	diag_add(&binder->script->diag, value->at,
		 "this script calls uDAPL: names of verbs are for `datsim run --script` and "
		 "`datsim explore`, with a program that uses libibverbs");
	return false;
}

bool bind_is_verbs(const struct value *value)
{
	return value->kind == VALUE_NAME && !value->actor && verbs_looks_like(value->text);
}

bool bind_verbs_call(struct binder *binder, struct fault *fault)
{
	const struct value *value = fault->subject;
	struct suggest suggest;

	if (!has_verbs(binder, value, fault))
		return false;
	fault->call.call = value->text;
	if (verbs_is_call(value->text))
		return true;
	suggest_start(&suggest, value->text, (int)strlen(value->text));
	verbs_suggest_call(&suggest);
	return refuse_name(binder, value, "a call of verbs that can fail", "ibv_post_send",
			   &suggest);
}

static bool bind_number_of(struct binder *binder, struct fault *fault, const struct value *value,
			   enum verbs_kind kind, uint64_t *number)
{
	static const struct {
		const char *what, *example;
	} kinds[] = {
		[VERBS_ERROR] = { "an errno", "ENOMEM" },
		[VERBS_STATUS] = { "a status other than success", "IBV_WC_RETRY_EXC_ERR" },
		[VERBS_EVENT] = { "an event that a fault can act on", "RDMA_CM_EVENT_ESTABLISHED" },
	};
	struct suggest suggest;

	if (!has_verbs(binder, value, fault))
		return false;
	if (value->kind != VALUE_NAME || value->actor)
		return refuse_name(binder, value, kinds[kind].what, kinds[kind].example, NULL);
	if (verbs_find(kind, value->text, number))
		return true;
	suggest_start(&suggest, value->text, (int)strlen(value->text));
	verbs_suggest(kind, &suggest);
	return refuse_name(binder, value, kinds[kind].what, kinds[kind].example, &suggest);
}

bool bind_verbs_error(struct binder *binder, struct fault *fault, const struct value *value)
{
	uint64_t number = 0;

	if (!bind_number_of(binder, fault, value, VERBS_ERROR, &number))
		return false;
	fault->call.error = (DAT_RETURN)number;
	return true;
}

bool bind_verbs_status(struct binder *binder, struct fault *fault, const struct value *value)
{
	uint64_t number = 0;

	if (!bind_number_of(binder, fault, value, VERBS_STATUS, &number))
		return false;
	fault->call.status = (DAT_DTO_COMPLETION_STATUS)number;
	return true;
}

bool bind_verbs_event(struct binder *binder, struct fault *fault)
{
	uint64_t number = 0;

	if (!bind_number_of(binder, fault, fault->subject, VERBS_EVENT, &number))
		return false;
	fault->call.event = (DAT_EVENT_NUMBER)number;
	return true;
}

bool bind_verbs_atomic(struct binder *binder, struct fault *fault, const struct value *value)
{
	if (!has_verbs(binder, value, fault))
		return false;
	fault->call.completions |= COMPLETION_ATOMIC;
	return true;
}
