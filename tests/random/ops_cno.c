/* SPDX-License-Identifier: BSD-3-Clause */
/* ops_cno.c - what a random program may do next: CNOs (ruling C1). Each side has one. */
#include <string.h>

#include "prog.h"

static int any_attached(struct prog *p)
{
	int found[EVDS], n = 0;

	for (int v = 0; v < EVDS; v++)
		if (p->evd[v].handle && p->evd[v].attached)
			found[n++] = v;
	return n ? found[pick(p, n)] : NONE;
}

/* Reap all triggers into latched[]; each EVD latches at most one. */
static void take_triggers(struct prog *p, int s, bool latched[EVDS])
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_RETURN ret;

	memset(latched, 0, EVDS * sizeof(*latched));
	while ((ret = dat_cno_wait(p->side[s].cno, 0, &evd)) == DAT_SUCCESS) {
		int v = 0;

		while (v < EVDS && (p->evd[v].handle != evd || !evd))
			v++;
		if (v == EVDS || !p->evd[v].attached || p->evd[v].side != s || latched[v])
			fails(p, "the CNO of side %d names evd %d", s, v);
		latched[v] = true;
		p->count[N_TRIGGERS]++;
	}
	if (ret != DAT_QUEUE_EMPTY || evd)
		fails(p, "the CNO of side %d: %#x", s, ret);
}

static bool op_take_triggers(struct prog *p)
{
	int s = pick(p, SIDES);
	bool latched[EVDS];

	if (!p->side[s].ia)
		return false;
	says(p, "triggers of side %d", s);
	take_triggers(p, s, latched);
	for (int v = 0; v < EVDS; v++)
		if (latched[v])
			says(p, "    evd %d", v);
	return true;
}

/* An emptied EVD has no trigger; the next event makes one, if the EVD is enabled. */
static bool op_trigger(struct prog *p)
{
	int v = any_attached(p), s;
	bool latched[EVDS];

	if (v == NONE)
		return false;
	s = p->evd[v].side;
	says(p, "trigger evd %d, %s", v, p->evd[v].disabled ? "disabled" : "enabled");
	reap_all(p, v);
	take_triggers(p, s, latched);
	if (latched[v])
		fails(p, "evd %d is empty, and its trigger is still there", v);
	if (!(p->evd[v].flags & DAT_EVD_SOFTWARE_FLAG) || !post_software_event(p, v))
		return true;
	take_triggers(p, s, latched);
	if (latched[v] == p->evd[v].disabled)
		fails(p, "evd %d: an event came, and the CNO does not know it, or should not", v);
	return true;
}

static bool op_able(struct prog *p)
{
	int v = any_attached(p);
	bool disable = chance(p, 40);

	if (v == NONE)
		return false;
	says(p, "%s evd %d", disable ? "disable" : "enable", v);
	ok(p, "dat_evd_enable or _disable",
	   disable ? dat_evd_disable(p->evd[v].handle) : dat_evd_enable(p->evd[v].handle));
	p->evd[v].disabled = disable;
	return true;
}

static bool op_move(struct prog *p)
{
	int v = pick(p, EVDS);
	struct evd *evd = &p->evd[v];

	if (!evd->handle)
		return false;
	evd->attached = !evd->attached;
	says(p, "evd %d %s its CNO", v, evd->attached ? "to" : "off");
	ok(p, "dat_evd_modify_cno",
	   dat_evd_modify_cno(evd->handle,
			      evd->attached ? p->side[evd->side].cno : DAT_HANDLE_NULL));
	return true;
}

const struct op cno_ops[] = {
	{ "triggers", 6, op_take_triggers },
	{ "trigger", 6, op_trigger },
	{ "enable or disable", 3, op_able },
	{ "modify CNO", 3, op_move },
	{ 0 },
};
