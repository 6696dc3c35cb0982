/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * After a program was started: waits until it is ready for the next one, or, in lockstep, until all
 * of its threads wait for a turn.
 */
#include <stdio.h>
#include <stdlib.h>

#include <dat/sim.h>

#include "programs.h"
#include "startup.h"

#define LOOK_NS          5000000
#define LOOKS_MOST       200
#define LISTENS_LOOKS    20          /* for one that listens by TCP to join the fabric, too */
#define LOOK_SOON_NS     500000      /* the first look in lockstep */
#define BUSY_NS          100000000   /* unless other threads than the first wait for turns */
#define LOCKSTEP_MOST_NS 5000000000l /* there a late program would change the order */

/* How many processes have started up: they listen or wait. */
static int count_ready(const struct programs *programs)
{
	DAT_SIM_MEMBER member;
	int ready = 0;

	for (DAT_COUNT i = 0; dat_sim_fabric_member(programs->fabric, i, &member) == DAT_SUCCESS;
	     i++)
		ready += member.listeners > 0 || member.waiting;
	return ready;
}

struct presence {
	int members, waiting;
	int children; /* processes that programs have started */
	bool there;   /* the process that was asked for is one of them */
};

/* In lockstep: which processes take part, and is this one among them? */
static struct presence look_at_members(const struct programs *programs, pid_t pid)
{
	struct presence p = { 0 };
	DAT_SIM_MEMBER member;

	for (; dat_sim_fabric_member(programs->fabric, p.members, &member) == DAT_SUCCESS;
	     p.members++) {
		bool child = true;

		for (int i = 0; i < programs->count; i++)
			child &= programs->one[i].pid != (pid_t)member.pid;
		p.children += child;
		p.waiting += member.waiting != DAT_FALSE;
		p.there |= pid == (pid_t)member.pid;
	}
	return p;
}

/*
 * A user who lets threads stay outside uDAPL for longer (DATSIM_LOCKSTEP) allows a longer start,
 * too.
 */
static long lockstep_most_ns(void)
{
	long ns = atol(getenv("DATSIM_LOCKSTEP")) * 1000000;

	return ns > LOCKSTEP_MOST_NS ? ns : LOCKSTEP_MOST_NS;
}

static int count_members(const struct programs *programs)
{
	DAT_SIM_MEMBER member;
	DAT_COUNT n = 0;

	while (dat_sim_fabric_member(programs->fabric, n, &member) == DAT_SUCCESS)
		n++;
	return n;
}

/*
 * In real time: wait until the program is ready for the next one, has ended, or has had its time to
 * become ready. That does not begin while it is not on the fabric and busy, or waits for a
 * processor.
 */
static void let_settle_in_time(struct programs *programs, int i)
{
	int before = programs->ready, members = count_members(programs), waits = 0, listens = 0;
	pid_t pid = programs->one[i].pid;

	for (int look = 0; look < 10 * LOOKS_MOST && waits < LOOKS_MOST &&
			   listens < LISTENS_LOOKS && !programs->ended->by;
	     look++) {
		programs_pause(programs, LOOK_NS);
		if (programs_has_ended(programs, pid))
			return;
		programs->ready = count_ready(programs);
		if (programs->ready > before)
			return;
		listens += startup_listens(pid);
		waits += startup_waits(pid) || count_members(programs) > members;
	}
}

/* A quick program is noticed soon, and a slow one is not looked at too often. */
static long next_look(long waited)
{
	long ns = LOOK_SOON_NS + waited / 4;

	return ns < LOOK_NS ? ns : LOOK_NS;
}

bool programs_all_wait(struct programs *programs)
{
	struct presence p = look_at_members(programs, 0);

	programs->children = p.children;
	return p.waiting == p.members;
}

/*
 * A program that cannot take part (a static one, say) may start others that do: then these are
 * what is waited for.
 */
static bool has_settled(struct programs *programs, pid_t pid)
{
	struct presence p = look_at_members(programs, pid);

	if (p.waiting < p.members || (!p.there && p.children <= programs->children))
		return false;
	programs->children = p.children;
	return true;
}

/* One that is on the fabric has turns there, and loses them if it does not come to a wait. */
static void look_whether_outside(struct programs *programs, int i, long waited)
{
	struct presence p = look_at_members(programs, programs->one[i].pid);
	char note[128];

	if (p.there || p.children > programs->children)
		return;
	programs->one[i].outside = true;
	snprintf(note, sizeof(note), "preempted: %s does not join", programs->one[i].name);
	dat_sim_fabric_note(programs->fabric, note);
	fprintf(stderr,
		"datsim run: %s has not joined the fabric in %ld s: it takes no part in lockstep, "
		"and the order of turns may differ in another run. A static program cannot join, "
		"a slow one can with a larger DATSIM_LOCKSTEP (ms)\n",
		programs->one[i].name, waited / 1000000000l);
}

static void let_settle_in_lockstep(struct programs *programs, int i)
{
	long most = lockstep_most_ns(), waited = 0, look;

	for (; waited < most && !programs->ended->by && !programs->late; waited += look) {
		look = next_look(waited);
		programs_pause(programs, look);
		if (programs_has_ended(programs, programs->one[i].pid))
			return;
		/* One that is busy does not wait for a turn. A look at the fabric costs more. */
		if (waited < BUSY_NS && !startup_waits(programs->one[i].pid))
			continue;
		if (has_settled(programs, programs->one[i].pid))
			return;
	}
	if (waited >= most)
		look_whether_outside(programs, i, most);
}

void programs_settle(struct programs *programs, int i)
{
	if (programs->lockstep)
		let_settle_in_lockstep(programs, i);
	else
		let_settle_in_time(programs, i);
}
