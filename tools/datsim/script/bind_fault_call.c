/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binds a fault line about a call, an allocation, a completion, an event or an adapter: it becomes
 * a DAT_SIM_CALL_FAULT rule.
 */
#include "bind.h"
#include "keywords.h"

#include <string.h>

/*
 * The calls that need the adapter, and the one error that the adapter can give a call besides
 * DAT_INSUFFICIENT_RESOURCES and DAT_INTERNAL_ERROR, which every call can get. The library has the
 * same list; tests/scripts/fault/every-call.dsim compares the two.
 */
static const struct {
	const char *call;
	uint32_t error;
} calls[] = {
	{ "post", 0 },
	{ "dat_pz_create", 0 },
	{ "dat_lmr_create", 0 },
	{ "dat_rmr_create", 0 },
	{ "dat_rmr_bind", 0 },
	{ "dat_evd_create", 0 },
	{ "dat_evd_resize", 0 },
	{ "dat_srq_create", 0 },
	{ "dat_srq_resize", 0 },
	{ "dat_srq_set_lw", 0 },
	{ "dat_srq_post_recv", 0 },
	{ "dat_ep_create", 0 },
	{ "dat_ep_create_with_srq", 0 },
	{ "dat_ep_modify", 0 },
	{ "dat_ep_connect", DAT_INVALID_ADDRESS },
	{ "dat_ep_dup_connect", 0 },
	{ "dat_ep_post_send", 0 },
	{ "dat_ep_post_recv", 0 },
	{ "dat_ep_post_rdma_read", 0 },
	{ "dat_ep_post_rdma_write", 0 },
	{ "dat_psp_create", DAT_CONN_QUAL_IN_USE },
	{ "dat_psp_create_any", DAT_CONN_QUAL_UNAVAILABLE },
	{ "dat_rsp_create", DAT_CONN_QUAL_IN_USE },
	{ "dat_cr_accept", 0 },
	{ "dat_cr_handoff", DAT_INVALID_PARAMETER },
};

static const struct {
	const char *name;
	DAT_SIM_COMPLETION bit;
} ops[] = {
	{ "SEND", DAT_SIM_COMPLETION_SEND }, { "WRITE", DAT_SIM_COMPLETION_WRITE },
	{ "READ", DAT_SIM_COMPLETION_READ }, { "BIND", DAT_SIM_COMPLETION_BIND },
	{ "RECV", DAT_SIM_COMPLETION_RECV },
};

static bool refuse_fault(struct binder *binder, struct place at, const char *format, const char *a,
			 const char *b)
{
	diag_add(&binder->script->diag, at, format, a, b);
	return false;
}

/* ---- the subject of the line ---- */

static bool bind_callee(struct binder *binder, struct fault *fault)
{
	const char *name = fault->subject->text;
	struct suggest suggest;
	size_t i;

	if (fault->subject->kind != VALUE_NAME || fault->subject->actor)
		return refuse_fault(binder, fault->subject->at, "expected a call%s%s", "", "");
	if (bind_is_verbs(fault->subject))
		return bind_verbs_call(binder, fault);
	suggest_start(&suggest, name, (int)strlen(name));
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		suggest_try(&suggest, calls[i].call);
		if (!strcmp(calls[i].call, name)) {
			fault->call.call = name;
			return true;
		}
	}
	refuse_fault(binder, fault->subject->at,
		     "expected a call that an adapter can make fail, found \"%s\"%s", name,
		     call_find(name) ? ": the library answers it alone" : "");
	diag_suggest(&binder->script->diag, &suggest);
	return false;
}

void fault_callees_each(void (*each)(void *context, const char *name), void *context)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		each(context, calls[i].call);
}

/* Why no fault takes this event. NULL: one can. */
static const char *why_no_event(DAT_EVENT_NUMBER event)
{
	switch ((int)event) {
	case DAT_DTO_COMPLETION_EVENT:
	case DAT_RMR_BIND_COMPLETION_EVENT:
		return "expected an event other than a completion: write \"fault "
		       "completion\"%s%s";
	case DAT_SOFTWARE_EVENT:
	case DAT_ASYNC_ERROR_EVD_OVERFLOW:
	case DAT_ASYNC_ERROR_IA_CATASTROPHIC:
		return "expected an event that an adapter sends; this one comes from the "
		       "library%s%s";
	default:
		return NULL;
	}
}

bool fault_takes_event(uint64_t event)
{
	return !why_no_event((DAT_EVENT_NUMBER)event);
}

static bool bind_event_number(struct binder *binder, struct fault *fault)
{
	const char *why;

	if (!fault->subject) {
		fault->call.event = DAT_SIM_NOTIFICATION;
		return true;
	}
	if (fault->subject->kind == VALUE_NAME && !strcmp(fault->subject->text, "any")) {
		fault->call.event = DAT_SIM_ANY_EVENT;
		return true;
	}
	if (bind_is_verbs(fault->subject))
		return bind_verbs_event(binder, fault);
	if (!bind_number(binder, fault->subject, GROUP_EVENT))
		return false;
	fault->call.event = (DAT_EVENT_NUMBER)fault->subject->number;
	why = why_no_event(fault->call.event);
	return !why || refuse_fault(binder, fault->subject->at, why, "", "");
}

static bool bind_subject(struct binder *binder, struct fault *fault)
{
	fault->actor_index = -1;
	switch (fault->kind) {
	case FAULT_CALL:
		return bind_callee(binder, fault);
	case FAULT_ALLOC:
		fault->call.call = "alloc";
		return true;
	case FAULT_EVENT:
		return bind_event_number(binder, fault);
	case FAULT_ADAPTER:
		return bind_failing_adapter(binder, fault);
	case FAULT_KILL:
		return bind_killed_node(binder, fault);
	case FAULT_COMPLETION:
	case FAULT_PACKET:
		break;
	}
	return true;
}

/* ---- the verdict ---- */

/* Of a call of verbs, or of an allocation by such a program. */
static bool is_errno(const struct fault *fault, const struct value *value)
{
	return fault->verbs || (fault->kind == FAULT_ALLOC && value->kind == VALUE_NAME &&
				!value->actor && value->text[0] == 'E');
}

static bool bind_error(struct binder *binder, struct fault *fault, const struct fault_word *word)
{
	static const uint32_t all[] = { DAT_INSUFFICIENT_RESOURCES, DAT_INTERNAL_ERROR };
	struct text list = { 0 };
	uint32_t own = 0;
	size_t i;

	fault->call.verdict = DAT_SIM_CALL_FAIL;
	if (word->value && is_errno(fault, word->value))
		return bind_verbs_error(binder, fault, word->value);
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		if (fault->kind == FAULT_CALL && !strcmp(calls[i].call, fault->call.call))
			own = calls[i].error;
	}
	if (!word->value)
		return true;
	if (!bind_number(binder, word->value, GROUP_RETURN))
		return false;
	fault->call.error = (DAT_RETURN)word->value->number;
	if (word->value->number == all[0] ||
	    (fault->kind == FAULT_CALL &&
	     (word->value->number == all[1] || (own && word->value->number == own))))
		return true;
	text_add(&list, "DAT_INSUFFICIENT_RESOURCES%s",
		 fault->kind == FAULT_CALL ? ", DAT_INTERNAL_ERROR" : "");
	if (own) {
		text_add(&list, ", ");
		group_print(&list, GROUP_RETURN, own, false, sizeof(own));
	}
	refuse_fault(binder, word->value->at, "expected an error that an adapter can give %s: %s",
		     fault->kind == FAULT_CALL ? fault->call.call : "an allocation",
		     text_of(&list));
	text_free(&list);
	return false;
}

static bool bind_status(struct binder *binder, struct fault *fault, const struct fault_word *word)
{
	fault->call.verdict = DAT_SIM_COMPLETE_AS;
	if (!word->value)
		return refuse_fault(binder, word->at,
				    "\"status\" takes a completion status, such as %s%s",
				    "DAT_DTO_ERR_TRANSPORT", "");
	if (bind_is_verbs(word->value))
		return bind_verbs_status(binder, fault, word->value);
	if (!bind_number(binder, word->value, GROUP_DTO_STATUS))
		return false;
	if (word->value->number == DAT_DTO_SUCCESS)
		return refuse_fault(binder, word->value->at,
				    "expected a status other than success%s%s", "", "");
	fault->call.status = (DAT_DTO_COMPLETION_STATUS)word->value->number;
	return true;
}

static bool bind_ns(struct binder *binder, const struct fault_word *word, DAT_UINT64 *ns)
{
	if (!word->value)
		return refuse_fault(binder, word->at, "\"%s\" takes a time, such as 5us%s",
				    word->word, "");
	return value_ns(binder, word->value, ns);
}

static bool bind_word(struct binder *binder, struct fault *fault, const struct fault_word *word)
{
	const char *w = word->word;

	if (!strcmp(w, "fail"))
		return bind_error(binder, fault, word);
	if (!strcmp(w, "status"))
		return bind_status(binder, fault, word);
	if (!strcmp(w, "at"))
		return bind_ns(binder, word, &fault->call.since_ns);
	if (!strcmp(w, "for") || !strcmp(w, "after"))
		return bind_ns(binder, word, &fault->call.until_ns);
	if (!strcmp(w, "delay")) {
		fault->call.verdict = DAT_SIM_EVENT_DELAY;
		return bind_ns(binder, word, &fault->call.delay_ns);
	}
	if (word->value)
		return refuse_fault(binder, word->at, "\"%s\" takes no value%s", w, "");
	fault->restarts |= !strcmp(w, "restart");
	if (fault->restarts)
		return true;
	if (!strcmp(w, "overflow"))
		fault->call.verdict = DAT_SIM_OVERFLOW;
	else if (!strcmp(w, "lose"))
		fault->call.verdict = DAT_SIM_EVENT_LOSE;
	else if (!strcmp(w, "fatal"))
		fault->call.verdict = DAT_SIM_ADAPTER_FATAL;
	else if (!strcmp(w, "remove"))
		fault->call.verdict = DAT_SIM_ADAPTER_REMOVE;
	else if (!strcmp(w, "down"))
		fault->call.verdict = DAT_SIM_PORT_DOWN;
	else
		fault->call.verdict = DAT_SIM_CALL_PASS;
	return true;
}

static bool is_moment(const struct fault_word *word)
{
	return strstr(" at for restart after ", word->word) != NULL;
}

/* "for" was read as the end of the time; it is its length. */
static bool bind_length(struct binder *binder, const struct statement *st, struct fault *fault)
{
	const struct fault_word *word = fault->words;

	if (fault->kind == FAULT_KILL)
		return bind_restart(binder, st);
	while (word && strcmp(word->word, "for") != 0)
		word = word->next;
	if (!word)
		return true;
	if (fault->call.verdict != DAT_SIM_PORT_DOWN)
		return refuse_fault(binder, word->at, "only \"down\" ends again%s%s", "", "");
	if (fault->call.until_ns == 0)
		return refuse_fault(binder, st->at, "\"for\" takes a time above 0%s%s", "", "");
	fault->call.until_ns += fault->call.since_ns;
	return true;
}

static bool bind_verdict(struct binder *binder, struct statement *st)
{
	struct fault *fault = &st->fault;
	const char *const *words = fault_takes[fault->kind].words;
	const struct fault_word *word;
	struct suggest suggest;
	bool judged = false;
	size_t i;

	for (word = fault->words; word; word = word->next) {
		if (!strcmp(word->word, "optional") && !word->value) {
			fault->optional = true;
			continue;
		}
		suggest_start(&suggest, word->word, (int)strlen(word->word));
		for (i = 0; words[i]; i++) {
			suggest_try(&suggest, words[i]);
			if (!strcmp(words[i], word->word))
				break;
		}
		if (!words[i]) {
			refuse_fault(binder, word->at, "expected %s, found \"%s\"",
				     fault_takes[fault->kind].list, word->word);
			diag_suggest(&binder->script->diag, &suggest);
			return false;
		}
		if (!is_moment(word) && judged)
			return refuse_fault(
				binder, word->at,
				"\"%s\" is one verdict too many: a rule has one, write two fault "
				"lines%s",
				word->word, "");
		if (!bind_word(binder, fault, word))
			return false;
		judged |= !is_moment(word) || fault->kind == FAULT_KILL;
	}
	if (!judged && fault->kind == FAULT_ALLOC) /* the default: an allocation fails */
		fault->call.verdict = DAT_SIM_CALL_FAIL;
	else if (!judged)
		return refuse_fault(binder, st->at, "expected what happens: %s%s",
				    fault_takes[fault->kind].list, "");
	return bind_length(binder, st, fault);
}

/* ---- settings ---- */

/* Does it happen once, at a time, and not to calls, completions or events? */
static bool is_of_moment(const struct fault *fault)
{
	return fault->kind == FAULT_ADAPTER || fault->kind == FAULT_KILL;
}

static bool bind_op(struct binder *binder, struct fault *fault, const struct value *value)
{
	const struct value *v = value->kind == VALUE_FLAGS ? value->elements : value;
	size_t i;

	for (; v; v = value->kind == VALUE_FLAGS ? v->next : NULL) {
		if (v->kind == VALUE_NAME && !v->actor && !strcmp(v->text, "ATOMIC")) {
			if (!bind_verbs_atomic(binder, fault, v))
				return false;
			continue;
		}
		for (i = 0; i < ARRAY_SIZE(ops); i++) {
			if (v->kind == VALUE_NAME && !v->actor && !strcmp(ops[i].name, v->text))
				break;
		}
		if (i == ARRAY_SIZE(ops))
			return bind_expected_word(binder, v, "SEND, WRITE, READ, BIND or RECV");
		fault->call.completions |= ops[i].bit;
	}
	return true;
}

static bool bind_whose(struct binder *binder, struct fault *fault, const struct value *value)
{
	if (value->kind != VALUE_NAME || value->actor)
		return refuse_fault(binder, value->at, "expected an actor%s%s", "", "");
	fault->actor = value->text;
	fault->actor_at = value->at;
	if (binder->script->for_program)
		return bind_adapter(binder, value->text, value->at);
	fault->actor_index = bind_actor(binder, value->text, value->at);
	return fault->actor_index >= 0;
}

static bool bind_ep(struct binder *binder, struct fault *fault, struct value *value)
{
	const struct script *script = binder->script;

	fault->ep = value;
	if (script->for_program)
		return bind_numbered_ep(binder, value, &fault->to_ep);
	if (value->kind != VALUE_NAME || !value->actor)
		return refuse_fault(binder, value->at, "expected an EP, as actor.ep%s%s", "", "");
	if (!bind_object(binder, value))
		return false;
	if (script->symbols[value->symbol].type == DAT_HANDLE_TYPE_EP)
		return true;
	return refuse_fault(binder, value->at, "expected an EP, as actor.ep%s%s", "", "");
}

static bool bind_setting(struct binder *binder, struct fault *fault, struct setting *setting)
{
	bool known;

	if (setting->unequal)
		return refuse_fault(binder, setting->at, "expected %s=value%s", setting->key, "");
	if (is_of_moment(fault))
		return refuse_fault(
			binder, setting->at,
			"expected \"at 5us\" in place of settings: %s only once%s",
			fault->kind == FAULT_KILL ? "a process ends" : "an adapter fails", "");
	if (!strcmp(setting->key, "actor"))
		return bind_whose(binder, fault, setting->value);
	if (!strcmp(setting->key, "ep") && fault->kind != FAULT_ALLOC)
		return bind_ep(binder, fault, setting->value);
	if (!strcmp(setting->key, "op") && fault->kind == FAULT_COMPLETION)
		return bind_op(binder, fault, setting->value);
	if (!bind_fault_count(binder, setting, &fault->rule, &known))
		return false;
	return known || bind_unknown_key(binder, setting, fault_takes[fault->kind].keys);
}

static void copy_counts(struct fault *fault)
{
	const DAT_SIM_FAULT *rule = &fault->rule;
	DAT_SIM_CALL_FAULT *call = &fault->call;

	if (!is_of_moment(fault)) {
		call->since_ns = rule->since_ns;
		call->until_ns = rule->until_ns;
	}
	call->after = rule->after;
	call->nth = rule->nth;
	call->every = rule->every;
	call->times = rule->times;
	call->probability = rule->probability;
}

static bool has_verbs_status(const struct fault *fault)
{
	const struct fault_word *word;

	for (word = fault->words; word; word = word->next)
		if (!strcmp(word->word, "status") && word->value && bind_is_verbs(word->value))
			return true;
	return false;
}

/* The completion of a bind has other statuses than that of a DTO. */
static bool check_status(struct binder *binder, const struct statement *st)
{
	const DAT_SIM_CALL_FAULT *call = &st->fault.call;
	bool bind = call->completions & DAT_SIM_COMPLETION_BIND;
	bool failed = call->status == (DAT_DTO_COMPLETION_STATUS)DAT_RMR_OPERATION_FAILED;

	if (call->verdict != DAT_SIM_COMPLETE_AS || has_verbs_status(&st->fault))
		return true;
	if (st->fault.verbs)
		return refuse_fault(binder, st->at,
				    "expected a status of verbs, such as %s: DAT has no atomics%s",
				    "IBV_WC_RETRY_EXC_ERR", "");
	if (bind && call->completions != DAT_SIM_COMPLETION_BIND)
		return refuse_fault(
			binder, st->at,
			"a bind has other statuses than a DTO: write a fault line for each%s%s", "",
			"");
	if (bind && !failed && call->status != DAT_DTO_ERR_FLUSHED)
		return refuse_fault(binder, st->at,
				    "expected a status that a bind can have: %s or %s",
				    "RMR_OPERATION_FAILED", "DTO_ERR_FLUSHED");
	if (!bind && failed)
		return refuse_fault(
			binder, st->at,
			"only a bind has this status: write op=BIND, or name a DTO's status%s%s",
			"", "");
	return true;
}

bool bind_fault_call(struct binder *binder, struct statement *st)
{
	struct fault *fault = &st->fault;
	struct setting *setting;

	if (!bind_subject(binder, fault) || !bind_verdict(binder, st))
		return false;
	for (setting = fault->settings; setting; setting = setting->next) {
		if (!bind_setting(binder, fault, setting))
			return false;
	}
	copy_counts(fault);
	return check_status(binder, st);
}
