/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model_srq.c - calls on the Shared Receive Queue, and the asynchronous events that are due
 * (rulings L2, H3, W2). The counts are the oracle's.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model.h"

bool model_fail(struct model *m, const char *format, ...)
{
	va_list args;

	if (m->error[0])
		return false;
	va_start(args, format);
	vsnprintf(m->error, sizeof(m->error), format, args);
	va_end(args);
	return false;
}

static void fire(struct model *m, struct model_due *due)
{
	due->least++;
	due->most++;
	m->fired++;
}

/*
 * W2: a new setting drops an event that is still pending because the EVD is full. If all events
 * since the EVD was emptied are of one object, it is known which one that is. Events of several
 * objects may have fired in the same instant; then it may be this one.
 */
static void new_setting(struct model *m, struct model_due *due)
{
	if (m->fired <= m->async_room)
		return;
	m->overfilled++;
	if (due->least > 0)
		due->least--;
	if (due->most == m->fired) {
		due->most--;
		m->fired--;
	}
}

void model_check_lw(struct model *m)
{
	if (oracle_srq_fires(&m->srq))
		fire(m, &m->lw_due);
}

void model_check_soft(struct model *m, int i)
{
	struct model_conn *c = &m->conn[i];

	if (oracle_recv_soft_fires(&c->buf))
		fire(m, &c->soft_due);
}

enum oracle_answer model_srq_create(struct model *m, int max, int lw)
{
	enum oracle_answer answer = oracle_srq_create(&m->srq, max, lw);

	if (answer != ORACLE_OK)
		return answer;
	m->lw_due = (struct model_due){ 0, 0 };
	model_check_lw(m);
	return ORACLE_OK;
}

/* Q5: not while an Endpoint uses it */
enum oracle_answer model_srq_free(struct model *m)
{
	for (int i = 0; i < MODEL_CONNS; i++) {
		if (m->conn[i].recv != MODEL_ABSENT && !m->conn[i].plain)
			return ORACLE_BAD_STATE;
	}
	oracle_srq_free(&m->srq);
	m->lw_due.least = 0;
	return ORACLE_OK;
}

enum oracle_answer model_srq_post(struct model *m)
{
	return oracle_srq_post(&m->srq);
}

/* L2: the event may come inside the call. */
enum oracle_answer model_set_lw(struct model *m, int lw)
{
	enum oracle_answer answer = oracle_srq_set_lw(&m->srq, lw);

	if (answer != ORACLE_OK)
		return answer;
	new_setting(m, &m->lw_due);
	model_check_lw(m);
	return ORACLE_OK;
}

enum oracle_answer model_resize(struct model *m, int max)
{
	return oracle_srq_resize(&m->srq, max);
}

/* H3: both levels are compared inside the call. */
enum oracle_answer model_set_watermark(struct model *m, int i, int soft, int hard)
{
	struct model_conn *c = &m->conn[i];
	enum oracle_answer answer = oracle_recv_set_watermark(&c->buf, soft, hard);

	if (answer != ORACLE_OK)
		return answer;
	new_setting(m, &c->soft_due);
	model_check_soft(m, i);
	if (model_alive(c->recv) && oracle_recv_hard_fires(&c->buf)) {
		c->must_break = true;
		c->causes |= MODEL_HARD;
	}
	return ORACLE_OK;
}

static bool within(struct model *m, struct model_due *due, int count, const char *what, int i)
{
	if (count < due->least || count > due->most)
		return model_fail(m, "%d %s events of %d, expected %d to %d", count, what, i,
				  due->least, due->most);
	*due = (struct model_due){ 0, 0 };
	return true;
}

bool model_async_emptied(struct model *m, int lw_events, const int *soft)
{
	m->fired = 0;
	if (!within(m, &m->lw_due, lw_events, "low watermark", 0))
		return false;
	for (int i = 0; i < MODEL_CONNS; i++) {
		if (!within(m, &m->conn[i].soft_due, soft[i], "soft high watermark", i))
			return false;
	}
	return true;
}
