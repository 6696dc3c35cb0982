/* SPDX-License-Identifier: BSD-3-Clause */
/* recv.c - how many receive buffers an Endpoint holds, and its high watermarks (rulings H, V1). */
#include "tests/oracle/oracle.h"

/* H5: a soft mark of 0 at creation means none; dat_ep_set_watermark takes 0 as a mark. */
void oracle_recv_create(struct oracle_recv *recv, int soft)
{
	*recv = (struct oracle_recv){ .soft = soft == 0 ? ORACLE_INFINITE : soft,
				      .hard = ORACLE_INFINITE };
	recv->soft_armed = recv->soft != ORACLE_INFINITE;
}

/* H3: back to UNCONNECTED; the marks stay as they are. */
void oracle_recv_restart(struct oracle_recv *recv)
{
	recv->posted = recv->taken = recv->completed = recv->reaped = recv->reaped_taken = 0;
}

/* H2, H3: each call sets and arms both marks. */
enum oracle_answer oracle_recv_set_watermark(struct oracle_recv *recv, int soft, int hard)
{
	if (soft < ORACLE_INFINITE || hard < ORACLE_INFINITE)
		return ORACLE_BAD_VALUE;
	recv->soft = soft;
	recv->hard = hard;
	recv->soft_armed = soft != ORACLE_INFINITE;
	recv->hard_armed = hard != ORACLE_INFINITE;
	return ORACLE_OK;
}

/* Whether a completed Receive occupies a place until it is reaped, the pages do not say. */
enum oracle_answer oracle_recv_post(struct oracle_recv *recv, int max, bool ended)
{
	if (recv->posted - recv->completed >= max)
		return ORACLE_FULL;
	if (recv->posted - recv->reaped >= max)
		return ORACLE_EITHER;
	recv->posted++;
	recv->completed += ended;
	return ORACLE_OK;
}

bool oracle_recv_reap(struct oracle_recv *recv, bool taken)
{
	if (recv->reaped == recv->completed)
		return false;
	recv->reaped++;
	recv->reaped_taken += taken;
	return true;
}

static bool crosses(const struct oracle_recv *recv, bool *armed, int mark)
{
	if (!*armed || oracle_recv_unreaped(recv) <= mark)
		return false;
	*armed = false;
	return true;
}

/* H1, H2: strictly more buffers than the mark */
bool oracle_recv_soft_fires(struct oracle_recv *recv)
{
	return crosses(recv, &recv->soft_armed, recv->soft);
}

bool oracle_recv_hard_fires(struct oracle_recv *recv)
{
	return crosses(recv, &recv->hard_armed, recv->hard);
}
