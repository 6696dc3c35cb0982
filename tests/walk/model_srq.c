/* SPDX-License-Identifier: BSD-3-Clause */
/* model_srq.c - the Shared Receive Queue and the asynchronous events (rulings Q, L, Z, W). */
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
 * W2: a new setting drops an event that is still pending because the EVD is full. If all events since
 * the EVD was emptied are of one object, it is known which one that is. Events of several objects
 * may have fired in the same instant; then it may be this one.
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

/* L1, L3: strictly fewer, once per arming */
void model_check_lw(struct model *m)
{
	if (m->lw_armed && m->available < m->lw) {
		fire(m, &m->lw_due);
		m->lw_armed = false;
	}
}

/* H1, H2: strictly more, once per setting */
void model_check_soft(struct model *m, int i)
{
	struct model_conn *c = &m->conn[i];

	if (c->soft_armed && model_unreaped(c) > c->soft) {
		fire(m, &c->soft_due);
		c->soft_armed = false;
	}
}

/* Q2a, L4, L6: a low watermark above 0 fires at once, as no buffer is there. */
enum model_answer model_srq_create(struct model *m, int max, int lw)
{
	if (max < 1 || max > m->srq_limit || lw < 0 || lw > max)
		return MODEL_BAD_VALUE;
	m->max = max;
	m->available = 0;
	m->outstanding = 0;
	m->lost = 0;
	m->lw = lw;
	m->lw_armed = lw > 0;
	m->lw_due = (struct model_due){ 0, 0 };
	model_check_lw(m);
	return MODEL_OK;
}

/* Q5: not while an Endpoint uses it */
enum model_answer model_srq_free(struct model *m)
{
	for (int i = 0; i < MODEL_CONNS; i++) {
		if (m->conn[i].recv != MODEL_ABSENT && !m->conn[i].plain)
			return MODEL_BAD_STATE;
	}
	m->max = m->available = m->outstanding = m->lost = m->lw = 0;
	m->lw_armed = false;
	m->lw_due.least = 0;
	return MODEL_OK;
}

/* Q2: an unreaped completion still occupies its slot. */
enum model_answer model_srq_post(struct model *m)
{
	if (m->outstanding == m->max)
		return MODEL_FULL;
	m->available++;
	m->outstanding++;
	return MODEL_OK;
}

/* L2, L4, L5 */
enum model_answer model_set_lw(struct model *m, int lw)
{
	if (lw < 0 || lw > m->max)
		return MODEL_BAD_VALUE;
	new_setting(m, &m->lw_due);
	m->lw = lw;
	m->lw_armed = lw > 0;
	model_check_lw(m);
	return MODEL_OK;
}

/* Z1, Z2 */
enum model_answer model_resize(struct model *m, int max)
{
	if (max <= 0 || max > m->srq_limit)
		return MODEL_BAD_VALUE;
	if (max < m->outstanding || max < m->lw)
		return MODEL_BAD_STATE;
	m->max = max;
	return MODEL_OK;
}

/* H2, H3 */
enum model_answer model_set_watermark(struct model *m, int i, int soft, int hard)
{
	struct model_conn *c = &m->conn[i];

	if (soft < MODEL_INFINITE || hard < MODEL_INFINITE)
		return MODEL_BAD_VALUE;
	new_setting(m, &c->soft_due);
	c->soft = soft;
	c->hard = hard;
	c->soft_armed = soft != MODEL_INFINITE;
	c->hard_armed = hard != MODEL_INFINITE;
	model_check_soft(m, i);
	if (c->hard_armed && model_alive(c->recv) && model_unreaped(c) > hard) {
		c->hard_armed = false;
		c->must_break = true;
		c->causes |= MODEL_HARD;
	}
	return MODEL_OK;
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
