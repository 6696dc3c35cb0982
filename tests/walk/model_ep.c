/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model_ep.c - the Endpoints: what is posted, reaped, flushed and thrown away (rulings Q4, H3, V1).
 */
#include <string.h>

#include "model.h"

static void restart(struct model_conn *c)
{
	oracle_recv_restart(&c->buf);
	c->good = 0;
	memset(c->bad, 0, sizeof(c->bad));
	c->crossed = c->must_break = c->must_end = false;
}

static void throw_away(struct model *m, struct model_conn *c)
{
	if (!c->plain)
		oracle_srq_throw_away(&m->srq, oracle_recv_unreaped(&c->buf));
	restart(c);
}

void model_recv_create(struct model *m, int i, bool plain, int max_recv, int soft)
{
	struct model_conn *c = &m->conn[i];

	oracle_recv_create(&c->buf, soft);
	restart(c);
	c->recv = MODEL_UNCONNECTED;
	c->plain = plain;
	c->max_recv = max_recv;
	c->soft_due = (struct model_due){ 0, 0 };
}

void model_send_create(struct model *m, int i)
{
	struct model_conn *c = &m->conn[i];

	/* Messages sent stay known until the next connection: the receiver may still hold them. */
	c->send = MODEL_UNCONNECTED;
	c->late = c->late_done = 0;
	c->send_must_end = false;
}

void model_recv_free(struct model *m, int i)
{
	struct model_conn *c = &m->conn[i];

	c->causes |= MODEL_ASKED;
	throw_away(m, c);
	c->recv = MODEL_ABSENT;
	c->soft_due.least = 0;
}

void model_send_free(struct model *m, int i)
{
	struct model_conn *c = &m->conn[i];

	c->causes |= MODEL_ASKED;
	c->send = MODEL_ABSENT;
}

enum oracle_answer model_recv_reset(struct model *m, int i)
{
	struct model_conn *c = &m->conn[i];

	if (model_alive(c->recv))
		return ORACLE_BAD_STATE;
	if (c->recv == MODEL_ENDED)
		throw_away(m, c);
	c->recv = MODEL_UNCONNECTED;
	return ORACLE_OK;
}

enum oracle_answer model_send_reset(struct model *m, int i)
{
	struct model_conn *c = &m->conn[i];

	if (model_alive(c->send))
		return ORACLE_BAD_STATE;
	if (c->send == MODEL_ENDED)
		model_send_create(m, i);
	c->send = MODEL_UNCONNECTED;
	return ORACLE_OK;
}

/* A new connection between the two UNCONNECTED ends is up. */
void model_connected(struct model *m, int i)
{
	struct model_conn *c = &m->conn[i];

	c->recv = c->send = MODEL_CONNECTED;
	c->causes = 0;
	c->starved = false;
	c->asked_by_sender = false;
	c->whole_least = c->whole_most = c->whole_known = 0;
	c->sent = c->done = c->acked = 0;
	memset(c->failed, 0, sizeof(c->failed));
}

enum oracle_answer model_disconnect(struct model *m, int i, bool sender, bool abrupt)
{
	struct model_conn *c = &m->conn[i];
	enum model_state *state = sender ? &c->send : &c->recv;

	if (*state == MODEL_ENDED)
		return ORACLE_OK;
	if (!model_alive(*state))
		return ORACLE_BAD_STATE;
	c->causes |= MODEL_ASKED;
	c->asked_by_sender |= sender && abrupt;
	if (!abrupt)
		*state = MODEL_PENDING;
	else if (sender)
		c->send_must_end = true;
	else
		c->must_end = true;
	return ORACLE_OK;
}

/*
 * On its own queue a Receive is there from the post on; on an ENDED Endpoint it is flushed at once.
 */
enum oracle_answer model_ep_post(struct model *m, int i)
{
	struct model_conn *c = &m->conn[i];

	if (!c->plain)
		return ORACLE_BAD_STATE;
	return oracle_recv_post(&c->buf, c->max_recv, c->recv == MODEL_ENDED);
}

enum oracle_answer model_send(struct model *m, int i, int length, int packets, int held,
			      bool too_long)
{
	struct model_conn *c = &m->conn[i];

	if (c->send == MODEL_ENDED) {
		c->late++;
		return ORACLE_OK;
	}
	if (c->send != MODEL_CONNECTED)
		return ORACLE_BAD_STATE;
	c->sent++;
	*model_message(c, c->sent) = (struct model_message){ .length = length,
							     .packets = packets,
							     .held = held,
							     .too_long = too_long };
	return ORACLE_OK;
}

void model_release(struct model *m, int i, int number)
{
	model_message(&m->conn[i], number)->held = MODEL_NOT_HELD;
}

/* One connection's messages complete in order, as long as it lives. */
static bool reap_success(struct model *m, int i, int number)
{
	struct model_conn *c = &m->conn[i];
	bool in_line = m->in_order || model_alive(c->recv);

	if (number < 1 || number > c->sent || model_message(c, number)->reaped)
		return model_fail(m, "conn %d: message %d received, which is not in flight", i,
				  number);
	if (in_line && number != c->good + 1)
		return model_fail(m, "conn %d: message %d received where %d was next", i, number,
				  c->good + 1);
	model_message(c, number)->reaped = true;
	c->good++;
	return true;
}

/* When all of an ENDED connection is reaped the sum must be right. */
static bool reap_last(struct model *m, int i)
{
	struct model_conn *c = &m->conn[i];
	int lost = c->buf.taken - c->good;

	if (c->recv != MODEL_ENDED || c->buf.reaped < c->buf.completed)
		return true;
	/* Q4: a whole message succeeds, even if one before it never came */
	if (c->good < c->whole_known)
		return model_fail(m, "conn %d: %d messages received, but %d were whole", i, c->good,
				  c->whole_known);
	if (m->in_order && lost > 1)
		return model_fail(m, "conn %d: %d messages of %d lost at its end", i, lost,
				  c->buf.taken);
	if (c->crossed && c->causes == MODEL_HARD && m->in_order && lost != 1)
		return model_fail(
			m, "conn %d: the message that crossed the hard mark was delivered", i);
	if (c->causes == MODEL_LONG && c->bad[MODEL_TOO_LONG] != 1)
		return model_fail(m, "conn %d: %d Receives too short, expected 1", i,
				  c->bad[MODEL_TOO_LONG]);
	return true;
}

bool model_reap(struct model *m, int i, enum model_status status, bool was_taken, int number)
{
	struct model_conn *c = &m->conn[i];

	if (!oracle_recv_reap(&c->buf, was_taken))
		return model_fail(m, "conn %d: a completion more than there were", i);
	if (!c->plain)
		oracle_srq_reap(&m->srq);
	if (status == MODEL_SUCCESS) {
		if (!was_taken)
			return model_fail(m, "conn %d: success of a buffer nothing took", i);
		if (!reap_success(m, i, number))
			return false;
		return reap_last(m, i);
	}
	if (model_alive(c->recv))
		return model_fail(m, "conn %d: Receive failed (%d), but it is connected", i,
				  status);
	if (status != MODEL_FLUSHED && !(status == MODEL_TOO_LONG && (c->causes & MODEL_LONG)))
		return model_fail(m, "conn %d: Receive failed with the wrong status %d", i, status);
	c->bad[status]++;
	return reap_last(m, i);
}

/* Whether a Send may have succeeded or failed is judged when the look is complete. */
bool model_send_done(struct model *m, int i, bool late, int number, enum model_status status)
{
	struct model_conn *c = &m->conn[i];

	if (late) {
		c->late_done++;
		if (number != c->late_done || status != MODEL_FLUSHED)
			return model_fail(m, "conn %d: late Send %d status %d, expected %d flushed",
					  i, number, status, c->late_done);
		return true;
	}
	c->done++;
	if (number != c->done || number > c->sent)
		return model_fail(m, "conn %d: Send %d completed where %d was next", i, number,
				  c->done);
	if (status != MODEL_SUCCESS) {
		c->failed[status]++;
		return true;
	}
	if (c->acked != c->done - 1)
		return model_fail(m, "conn %d: Send %d succeeded behind one that failed", i,
				  number);
	c->acked++;
	return true;
}
