/* SPDX-License-Identifier: BSD-3-Clause */
/* Has a call changed any state that the public API shows? */
#include "tests/sweep/sweep.h"

union sweep_out out;

enum {
	TYPES = DAT_HANDLE_TYPE_SRQ + 1,
	EVDS = 5
};

/*
 * The state of a side as the API shows it. An invalid handle, or one that the call had to free,
 * shows an error.
 */
struct picture {
	DAT_RETURN shown[EVDS + 4];
	DAT_EVD_PARAM evd[EVDS];
	DAT_EP_PARAM ep;
	DAT_SRQ_PARAM srq;
	DAT_COUNT nbufs, span;
	DAT_EP_STATE state;
	DAT_BOOLEAN recv_idle, request_idle;
};

static struct {
	DAT_COUNT objects[TYPES];
	DAT_COUNT under_way;
	struct picture a, b;
} before, after;

static void take_picture(const struct side *side, struct picture *p)
{
	const DAT_EVD_HANDLE evds[EVDS] = { side->async, side->recv, side->request, side->connect,
					    side->cr };
	size_t i;

	for (i = 0; i < EVDS; i++)
		p->shown[i] = dat_evd_query(evds[i], DAT_EVD_FIELD_ALL, &p->evd[i]);
	p->shown[EVDS] = dat_ep_query(side->ep, DAT_EP_FIELD_ALL, &p->ep);
	p->shown[EVDS + 1] = dat_ep_recv_query(side->ep, &p->nbufs, &p->span);
	p->shown[EVDS + 2] =
		dat_ep_get_status(side->ep, &p->state, &p->recv_idle, &p->request_idle);
	p->shown[EVDS + 3] = dat_srq_query(side->srq, DAT_SRQ_FIELD_ALL, &p->srq);
}

static void look(struct picture *a, struct picture *b, DAT_COUNT *counts, DAT_COUNT *under_way)
{
	int type;

	for (type = 0; type < TYPES; type++)
		counts[type] = objects((DAT_HANDLE_TYPE)type);
	if (w.sim)
		must(dat_sim_pending(w.sim, under_way, NULL));
	take_picture(&w.a, a);
	take_picture(&w.b, b);
}

void sweep_before(void)
{
	memset(&before, 0, sizeof(before));
	memset(&out, 0xee, sizeof(out));
	look(&before.a, &before.b, before.objects, &before.under_way);
}

DAT_RETURN sweep_after(const char *call, DAT_RETURN ret)
{
	size_t i;

	/* One assertion for all outputs: Check writes each assertion to a file. */
	for (i = 0; i < sizeof(out) && out.bytes[i] == 0xee; i++)
		;
	ck_assert_msg(i == sizeof(out), "%s: an output was written", call);
	memset(&after, 0, sizeof(after));
	look(&after.a, &after.b, after.objects, &after.under_way);
	ck_assert_msg(memcmp(before.objects, after.objects, sizeof(before.objects)) == 0,
		      "%s: objects came or went", call);
	ck_assert_msg(before.under_way == after.under_way, "%s: something is on its way", call);
	ck_assert_msg(memcmp(&before.a, &after.a, sizeof(before.a)) == 0 &&
			      memcmp(&before.b, &after.b, sizeof(before.b)) == 0,
		      "%s: a query shows something else than before", call);
	return ret;
}
