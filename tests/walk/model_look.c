/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model_look.c - compares what a look showed after a step with what can be.
 *
 * First all counts are brought up to date, then the watermarks are compared with them, then each
 * connection is judged: was it allowed to end, did it have to, did its Sends end as they should.
 */
#include <stdlib.h>

#include "model.h"

/*
 * Messages that may take a buffer. In order: all up to the first that is held, and that one too if
 * its first packet passes; behind a message that breaks the connection nothing comes. Otherwise
 * messages overtake what is held, and what is not yet whole.
 */
int model_takeable(const struct model *m, int i)
{
	const struct model_conn *c = &m->conn[i];
	int count = 0;

	for (int n = 1; n <= c->sent; n++) {
		const struct model_message *message = &c->message[n % MODEL_MESSAGES];

		count += message->held != 0;
		if (m->in_order && (message->too_long || message->held != MODEL_NOT_HELD))
			break;
	}
	return count;
}

/* Messages that may complete: in order, up to the first that cannot come whole. */
int model_completable(const struct model *m, int i)
{
	const struct model_conn *c = &m->conn[i];
	int n = 1;

	while (n <= c->sent) {
		const struct model_message *message = &c->message[n % MODEL_MESSAGES];

		if (message->held != MODEL_NOT_HELD || message->too_long)
			break;
		n++;
	}
	return n - 1;
}

/* The highest number among the takeable ones */
static int last_takeable(const struct model *m, int i)
{
	const struct model_conn *c = &m->conn[i];
	int last = 0;

	for (int n = 1; n <= c->sent; n++) {
		const struct model_message *message = &c->message[n % MODEL_MESSAGES];

		if (message->held != 0)
			last = n;
		if (m->in_order && (message->too_long || message->held != MODEL_NOT_HELD))
			break;
	}
	return last;
}

static bool too_long_sent(const struct model_conn *c)
{
	for (int n = 1; n <= c->sent; n++) {
		if (c->message[n % MODEL_MESSAGES].too_long)
			return true;
	}
	return false;
}

static bool held_sent(const struct model_conn *c)
{
	for (int n = 1; n <= c->sent; n++) {
		if (c->message[n % MODEL_MESSAGES].held != MODEL_NOT_HELD)
			return true;
	}
	return false;
}

/* The number of messages sent that are neither held nor too long */
static int count_whole(const struct model_conn *c)
{
	int count = 0;

	for (int n = 1; n <= c->sent; n++) {
		const struct model_message *message = &c->message[n % MODEL_MESSAGES];

		count += message->held == MODEL_NOT_HELD && !message->too_long;
	}
	return count;
}

/* No buffer is left for this connection. */
static bool empty(const struct model *m, const struct model_conn *c)
{
	return c->plain ? c->buf.posted == c->buf.taken : m->srq.available == 0;
}

bool model_retries(const struct model *m)
{
	for (int i = 0; i < MODEL_CONNS; i++) {
		const struct model_conn *c = &m->conn[i];

		if (model_alive(c->recv) && model_alive(c->send) &&
		    c->buf.taken < model_takeable(m, i) && empty(m, c))
			return m->in_order && m->patient;
	}
	return false;
}

static int min(int a, int b)
{
	return a < b ? a : b;
}

/* No query shows what a plain Endpoint has taken: the model works it out. */
static int plain_taken(struct model *m, int i, enum model_time time)
{
	struct model_conn *c = &m->conn[i];
	int taken = min(model_takeable(m, i), c->buf.posted);

	if (time == MODEL_STILL || m->forth != MODEL_OPEN)
		return c->buf.taken;
	if (time != MODEL_SETTLED)
		model_fail(m, "plain Endpoints are looked at when all is quiet");
	if (c->buf.hard_armed && taken - c->buf.reaped_taken > c->buf.hard)
		taken = c->buf.reaped_taken + c->buf.hard + 1;
	return taken;
}

static bool check_counts(struct model *m, int i, int taken, int completed, enum model_time time)
{
	struct model_conn *c = &m->conn[i];
	bool moves = time != MODEL_STILL && m->forth != MODEL_CLOSED;
	int most = moves ? model_takeable(m, i) : c->buf.taken;

	if (taken < c->buf.taken || taken > most)
		return model_fail(m, "conn %d: %d buffers taken, expected %d to %d", i, taken,
				  c->buf.taken, most);
	if (c->buf.hard_armed && taken - c->buf.reaped_taken > c->buf.hard + 1)
		return model_fail(m, "conn %d: %d buffers at the Endpoint, hard mark %d", i,
				  taken - c->buf.reaped_taken, c->buf.hard);
	return completed >= c->buf.completed ||
	       model_fail(m, "conn %d: %d completions, there were %d", i, completed,
			  c->buf.completed);
}

/* The counts of a connection that is still alive */
static bool look_alive(struct model *m, int i, const struct model_seen *seen, enum model_time time)
{
	struct model_conn *c = &m->conn[i];
	bool moves = time != MODEL_STILL && m->forth != MODEL_CLOSED;
	int completed = c->buf.reaped + seen->queued;
	int most = moves ? model_completable(m, i) : c->buf.completed;
	int taken = c->plain ? plain_taken(m, i, time) : completed + seen->nbufs;

	if (!check_counts(m, i, taken, completed, time))
		return false;
	if (completed > most)
		return model_fail(m, "conn %d: %d completed, at most %d can be", i, completed,
				  most);
	if (m->in_order && !(taken == completed || taken == completed + 1))
		return model_fail(m, "conn %d: %d messages in flight at once", i,
				  taken - completed);
	if (c->plain && seen->nbufs != c->buf.posted - completed)
		return model_fail(m, "conn %d: nbufs %d, expected %d", i, seen->nbufs,
				  c->buf.posted - completed);
	if (!c->plain)
		oracle_srq_take(&m->srq, taken - c->buf.taken);
	c->buf.taken = taken;
	c->buf.completed = completed;
	c->whole_least = c->whole_most = completed;
	return true;
}

/* The counts of a connection that has just ended: every taken buffer completes (ruling Q4). */
static bool look_ended(struct model *m, int i, const struct model_seen *seen, enum model_time time)
{
	struct model_conn *c = &m->conn[i];
	int completed = c->buf.reaped + seen->queued;
	int taken = c->plain ? plain_taken(m, i, time) : completed;

	if (seen->nbufs != 0 || seen->span != 0)
		return model_fail(m, "conn %d ended: nbufs %d, span %d", i, seen->nbufs,
				  seen->span);
	if (!check_counts(m, i, taken, completed, time))
		return false;
	if (c->plain && completed != c->buf.posted)
		return model_fail(m, "conn %d ended: %d of %d Receives completed", i, completed,
				  c->buf.posted);
	if (!c->plain)
		oracle_srq_take(&m->srq, taken - c->buf.taken);
	c->buf.taken = taken;
	c->buf.completed = completed;
	c->whole_most = taken;
	c->recv = MODEL_ENDED;
	return true;
}

/* Endpoints that no connection feeds: nothing moves. */
static bool look_idle(struct model *m, int i, const struct model_seen *seen)
{
	struct model_conn *c = &m->conn[i];
	int nbufs = c->plain && c->recv != MODEL_ABSENT ? c->buf.posted - c->buf.completed : 0;

	if (seen->recv_ended)
		return model_fail(m, "conn %d: ended twice", i);
	if (seen->queued != c->buf.completed - c->buf.reaped || seen->nbufs != nbufs ||
	    seen->span != nbufs)
		return model_fail(m,
				  "conn %d idle: %d queued, nbufs %d, span %d; expected %d, %d, %d",
				  i, seen->queued, seen->nbufs, seen->span,
				  c->buf.completed - c->buf.reaped, nbufs, nbufs);
	return true;
}

static bool look_counts(struct model *m, int i, const struct model_seen *seen, enum model_time time)
{
	struct model_conn *c = &m->conn[i];
	bool ok;

	if (!model_alive(c->recv))
		return look_idle(m, i, seen);
	ok = seen->recv_ended ? look_ended(m, i, seen, time) : look_alive(m, i, seen, time);
	if (!ok)
		return false;
	if (oracle_recv_hard_fires(&c->buf)) {
		c->crossed = c->must_break = true;
		c->causes |= MODEL_HARD;
	}
	return true;
}

/* V1: from the latest taken to the latest completed, never less than there are */
static bool check_span(struct model *m, int i, const struct model_seen *seen, enum model_time time)
{
	struct model_conn *c = &m->conn[i];
	int most = last_takeable(m, i) - c->buf.completed;
	int least = seen->nbufs;

	if (!model_alive(c->recv))
		return true;
	if (m->in_order)
		most = 0;
	else if (time == MODEL_SETTLED && m->forth == MODEL_OPEN &&
		 c->buf.taken == model_takeable(m, i) && most > least)
		least = most;
	if (most < seen->nbufs)
		most = seen->nbufs;
	if (seen->span < least || seen->span > most)
		return model_fail(m, "conn %d: span %d, nbufs %d; expected span %d to %d", i,
				  seen->span, seen->nbufs, least, most);
	return true;
}

static bool may_end(struct model *m, int i, bool broken, const char *end)
{
	unsigned int causes = m->conn[i].causes;
	unsigned int wanted = broken ? MODEL_HARD | MODEL_STARVED | MODEL_LONG : MODEL_ASKED;

	return (causes & wanted) != 0 ||
	       model_fail(m, "conn %d: %s %s, but there was no reason (%#x)", i, end,
			  broken ? "broken" : "disconnected", causes);
}

/* Find out why it may end, then whether each end did so rightly. */
static bool judge_end(struct model *m, int i, const struct model_seen *seen, bool was_alive,
		      enum model_time time)
{
	struct model_conn *c = &m->conn[i];

	if (was_alive && time != MODEL_STILL && c->buf.taken < model_takeable(m, i) &&
	    empty(m, c) && m->forth != MODEL_CLOSED) {
		c->starved = true;
		c->causes |= MODEL_STARVED;
	}
	if (too_long_sent(c))
		c->causes |= MODEL_LONG;
	if (c->must_break && !(seen->recv_ended && seen->recv_broken))
		return model_fail(m, "conn %d: beyond its hard mark, but not broken", i);
	if ((c->must_end && !seen->recv_ended) || (c->send_must_end && !seen->send_ended))
		return model_fail(m, "conn %d: disconnected abruptly, but it lives on", i);
	c->must_break = c->must_end = c->send_must_end = false;
	if (seen->recv_ended && !may_end(m, i, seen->recv_broken, "receiver"))
		return false;
	if (!seen->send_ended)
		return true;
	if (!model_alive(c->send))
		return model_fail(m, "conn %d: sender ended twice", i);
	c->send = MODEL_ENDED;
	return may_end(m, i, seen->send_broken, "sender");
}

static bool judge_failures(struct model *m, int i)
{
	struct model_conn *c = &m->conn[i];
	int failures = c->sent - c->acked;
	int causal = failures - c->failed[MODEL_FLUSHED];
	int wanted = -1;

	if (c->done != c->sent)
		return model_fail(m, "conn %d: ended, but %d of %d Sends completed", i, c->done,
				  c->sent);
	if (c->acked < c->whole_least && !c->asked_by_sender)
		return model_fail(m, "conn %d: %d messages arrived, but %d Sends succeeded", i,
				  c->whole_least, c->acked);
	if (c->causes == MODEL_ASKED)
		wanted = 0;
	else if (c->causes == MODEL_LONG || c->causes == MODEL_STARVED ||
		 (c->causes == MODEL_HARD && c->crossed))
		wanted = 1;
	if (causal > 1 || (wanted >= 0 && causal != wanted))
		return model_fail(m, "conn %d (%#x): %d of %d failed Sends were not flushed", i,
				  c->causes, causal, failures);
	if (c->causes == MODEL_STARVED && c->failed[MODEL_NOT_READY] != 1)
		return model_fail(m, "conn %d: starved, but no Send says so", i);
	if (c->causes == MODEL_HARD && c->crossed && c->failed[MODEL_RESPONDER] != 1)
		return model_fail(m, "conn %d: hard mark crossed, but no Send says so", i);
	return true;
}

static bool judge_sends(struct model *m, int i, const struct model_seen *seen)
{
	struct model_conn *c = &m->conn[i];

	if (c->acked > c->whole_most)
		return model_fail(m, "conn %d: Send %d succeeded, but only %d messages arrived", i,
				  c->acked, c->whole_most);
	if (c->late_done != c->late)
		return model_fail(m, "conn %d: %d of %d late Sends flushed", i, c->late_done,
				  c->late);
	if (model_alive(c->send) && c->acked != c->done)
		return model_fail(m, "conn %d: Sends failed, but it is connected", i);
	return !seen->send_ended || judge_failures(m, i);
}

/* When the network is quiet and both ways are open, what had to happen did. */
static bool judge_settled(struct model *m, int i)
{
	struct model_conn *c = &m->conn[i];
	bool both = model_alive(c->recv) && model_alive(c->send);
	bool waits = m->in_order &&
		     ((m->patient && empty(m, c)) || (c->starved && m->back != MODEL_OPEN));
	bool open = m->forth == MODEL_OPEN && m->back == MODEL_OPEN;
	bool whole = c->buf.taken == model_takeable(m, i);

	if (m->forth == MODEL_OPEN && model_alive(c->recv) && !model_alive(c->send))
		return model_fail(m, "conn %d: the sender is gone, the receiver was not told", i);
	if (m->back == MODEL_OPEN && model_alive(c->send) && !model_alive(c->recv))
		return model_fail(m, "conn %d: the receiver is gone, the sender was not told", i);
	if (!both || m->forth != MODEL_OPEN)
		return true;
	if (!whole && !waits)
		return model_fail(m, "conn %d: %d of %d buffers taken", i, c->buf.taken,
				  model_takeable(m, i));
	c->whole_known = whole && !m->in_order ? count_whole(c) : c->buf.completed;
	if (whole && c->buf.completed != model_completable(m, i))
		return model_fail(m, "conn %d: %d of %d messages complete", i, c->buf.completed,
				  model_completable(m, i));
	if (whole && model_completable(m, i) < model_takeable(m, i) && !held_sent(c))
		return model_fail(m, "conn %d: a message too long, but it is connected", i);
	if (!open)
		return true;
	if (whole) {
		c->starved = false;
		c->causes &= ~(unsigned int)MODEL_STARVED;
	}
	if (c->acked != c->buf.completed)
		return model_fail(m, "conn %d: %d messages arrived, %d Sends complete", i,
				  c->buf.completed, c->acked);
	if ((c->recv == MODEL_PENDING || c->send == MODEL_PENDING) && !waits && !held_sent(c))
		return model_fail(m, "conn %d: graceful disconnect does not end", i);
	return true;
}

bool model_look(struct model *m, const struct model_seen *seen, enum model_time time)
{
	bool was_alive[MODEL_CONNS];

	for (int i = 0; i < MODEL_CONNS; i++) {
		was_alive[i] = model_alive(m->conn[i].recv);
		if (!look_counts(m, i, &seen[i], time))
			return false;
	}
	if (m->srq.available < 0)
		return model_fail(m, "%d buffers more taken than posted", -m->srq.available);
	model_check_lw(m);
	for (int i = 0; i < MODEL_CONNS; i++) {
		model_check_soft(m, i);
		if (!check_span(m, i, &seen[i], time) ||
		    !judge_end(m, i, &seen[i], was_alive[i], time) || !judge_sends(m, i, &seen[i]))
			return false;
		if (time == MODEL_SETTLED && !judge_settled(m, i))
			return false;
	}
	return true;
}
