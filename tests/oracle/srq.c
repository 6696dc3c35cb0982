/* SPDX-License-Identifier: BSD-3-Clause */
/* srq.c - the counts of a Shared Receive Queue, low watermark and resize (rulings Q, L, Z). */
#include "tests/oracle/oracle.h"

/* Q2a, L4, L6: no buffer is there yet, so a low watermark above 0 is crossed at once. */
enum oracle_answer oracle_srq_create(struct oracle_srq *srq, int max, int lw)
{
	if (max < 1 || max > srq->limit || lw < 0 || lw > max)
		return ORACLE_BAD_VALUE;
	*srq = (struct oracle_srq){ .limit = srq->limit, .max = max, .lw = lw, .lw_armed = lw > 0 };
	return ORACLE_OK;
}

void oracle_srq_free(struct oracle_srq *srq)
{
	*srq = (struct oracle_srq){ .limit = srq->limit };
}

/* Q2: a completion that was not reaped still occupies its place. */
enum oracle_answer oracle_srq_post(struct oracle_srq *srq)
{
	if (srq->outstanding == srq->max)
		return ORACLE_FULL;
	srq->available++;
	srq->outstanding++;
	return ORACLE_OK;
}

/* L4, L5: each call arms the mark again. */
enum oracle_answer oracle_srq_set_lw(struct oracle_srq *srq, int lw)
{
	if (lw < 0 || lw > srq->max)
		return ORACLE_BAD_VALUE;
	srq->lw = lw;
	srq->lw_armed = lw > 0;
	return ORACLE_OK;
}

/* Z1, Z2 */
enum oracle_answer oracle_srq_resize(struct oracle_srq *srq, int max)
{
	if (max <= 0 || max > srq->limit)
		return ORACLE_BAD_VALUE;
	if (max < srq->outstanding || max < srq->lw)
		return ORACLE_BAD_STATE;
	srq->max = max;
	return ORACLE_OK;
}

void oracle_srq_take(struct oracle_srq *srq, int count)
{
	srq->available -= count;
}

void oracle_srq_reap(struct oracle_srq *srq)
{
	srq->outstanding--;
}

/* Q4: a completion thrown away counts as reaped; a taken buffer never returns to the SRQ. */
void oracle_srq_throw_away(struct oracle_srq *srq, int taken)
{
	srq->outstanding -= taken;
	srq->lost += taken;
}

/* L1, L3: strictly fewer buffers than the mark; one event per arming */
bool oracle_srq_fires(struct oracle_srq *srq)
{
	if (!srq->lw_armed || srq->available >= srq->lw)
		return false;
	srq->lw_armed = false;
	return true;
}
