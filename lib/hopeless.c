/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * "Nothing can wake you": the only thread of a private fabric waits for ever and no event is pending. A
 * signal handler is all that can still happen; the person who wonders why is told, once for each object. So is who waits
 * on a fabric in lockstep where all threads of all processes do; there another process may join.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cno.h"
#include "ep.h"
#include "forks.h"
#include "say.h"

struct text {
	char chars[1024];
	size_t length;
};

static void __attribute__((format(printf, 2, 3))) add(struct text *text, const char *format, ...)
{
	size_t room = sizeof(text->chars) - text->length;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text->chars + text->length, room, format, args);
	va_end(args);
	text->length += (size_t)n < room ? (size_t)n : room - 1;
}

/* The EPs that feed an EVD, and their states. */
static void add_feeders(struct text *text, const struct evd *evd)
{
	const char *before = " fed by ";
	struct obj *obj;

	TAILQ_FOREACH(obj, &evd->obj.ia->objects, in_ia) {
		const struct ep *ep = obj_as(const struct ep, obj);
		char name[64];

		if (obj->type != DAT_HANDLE_TYPE_EP || !ep_feeds(ep, evd))
			continue;
		obj_name(obj, name, sizeof(name));
		add(text, "%s%s (%s)", before, name, ep_state_name(ep->state));
		before = ", ";
	}
}

static void tell(const char *call, const struct obj *obj, const struct text *text)
{
	struct text whole = { .length = 0 };
	char name[64];

	obj_name(obj, name, sizeof(name));
	add(&whole,
	    "%s on %s waits for ever, nothing is under way on the simulated fabric and %s: "
	    "nothing can wake it%s",
	    call, name,
	    obj_backend(obj)->shared ? "so does every other thread of every process on it"
				     : "no other thread is there",
	    text->chars);
	say("%s", whole.chars);
	forks_stuck(whole.chars);
}

/* False: there may be more processes yet, so it waits on. */
static bool wait_for_signal(const struct obj *obj)
{
	if (obj_backend(obj)->shared)
		return false;
	pause();
	return true;
}

bool evd_hopeless(struct evd *evd)
{
	struct text text = { .length = 0 };

	if (!evd->told) {
		add_feeders(&text, evd);
		tell("dat_evd_wait", &evd->obj, &text);
	}
	evd->told = true;
	return wait_for_signal(&evd->obj);
}

bool cno_hopeless(struct cno *cno)
{
	const char *before = "; its EVDs: ";
	struct text text = { .length = 0 };
	struct evd *evd;
	char name[64];

	if (!cno->told) {
		TAILQ_FOREACH(evd, &cno->evds, in_cno) {
			obj_name(&evd->obj, name, sizeof(name));
			add(&text, "%s%s%s", before, name, evd->enabled ? "" : " (disabled)");
			add_feeders(&text, evd);
			before = "; ";
		}
		if (TAILQ_EMPTY(&cno->evds))
			add(&text, "; it has no EVD");
		tell("dat_cno_wait", &cno->obj, &text);
	}
	cno->told = true;
	return wait_for_signal(&cno->obj);
}
