/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues, watermarks, sizes. */
#include "parity.h"

static void fact_counts(const char *name)
{
	DAT_SRQ_PARAM param;

	must(dat_srq_query(b.srq, DAT_SRQ_FIELD_ALL, &param));
	fact(name, "%d available, %d outstanding of %d, low %d", param.available_dto_count,
	     param.outstanding_dto_count, param.max_recv_dtos, param.low_watermark);
}

static void send_and_wait(int n)
{
	DAT_EVENT event;

	for (int i = 0; i < n; i++)
		must(post_send(&a, i, 64, 0));
	for (int i = 0; i < n; i++)
		if (!take(a.request, WAIT_US, &event))
			fact("late", "a Send did not complete");
}

static void counts(void)
{
	DAT_EVENT event;

	srq_pair(10);
	for (int i = 0; i < 3; i++)
		must(post_srq(i));
	fact_counts("posted");
	send_and_wait(1);
	/* The Receive has completed, so its buffer was taken. */
	fact_counts("taken");
	if (take(b.recv, WAIT_US, &event))
		fact_counts("reaped");
	for (int i = 3; i < 11; i++)
		must(post_srq(i));
	fact_ret("one_more", post_srq(11));
}

static void low_watermark(void)
{
	srq_pair(16);
	for (int i = 0; i < 6; i++)
		must(post_srq(i));
	must(dat_srq_set_lw(b.srq, 4));
	fact_event("armed_above", b.async, QUIET_US);
	send_and_wait(2);
	fact_event("at_the_mark", b.async, QUIET_US);
	send_and_wait(1);
	fact_event("below", b.async, WAIT_US);
	send_and_wait(1);
	fact_event("once", b.async, QUIET_US);
	fact_counts("after");
	must(dat_srq_set_lw(b.srq, 5));
	fact_event("armed_below", b.async, WAIT_US);
	must(dat_srq_set_lw(b.srq, 0));
	send_and_wait(1);
	fact_event("disarmed", b.async, QUIET_US);
	fact_ret("too_high", dat_srq_set_lw(b.srq, 17));
}

static void srq_resize(void)
{
	srq_pair(8);
	for (int i = 0; i < 8; i++)
		must(post_srq(i));
	fact_ret("smaller", dat_srq_resize(b.srq, 7));
	fact_ret("larger", dat_srq_resize(b.srq, 20));
	fact_counts("now");
	fact_ret("ninth", post_srq(8));
	send_and_wait(9);
	fact_completions("receives", b.recv, 9);
	fact_ret("small", dat_srq_resize(b.srq, 2));
	fact_counts("then");
	must(post_srq(0));
	must(post_srq(1));
	fact_ret("third", post_srq(2));
	fact_ret("beyond", dat_srq_resize(b.srq, 1 << 30));
	fact_ret("in_use", dat_srq_free(b.srq));
}

static void soft_mark(void)
{
	DAT_EVENT event;

	srq_pair(16);
	for (int i = 0; i < 12; i++)
		must(post_srq(i));
	must(dat_ep_set_watermark(b.ep, 3, DAT_WATERMARK_INFINITE));
	send_and_wait(3);
	fact_event("at_the_mark", b.async, QUIET_US);
	send_and_wait(2);
	fact_event("above", b.async, WAIT_US);
	send_and_wait(1);
	fact_event("once", b.async, QUIET_US);
	must(dat_ep_set_watermark(b.ep, 5, DAT_WATERMARK_INFINITE));
	fact_event("armed_above", b.async, WAIT_US);
	for (int i = 0; i < 6; i++)
		take(b.recv, WAIT_US, &event);
	must(dat_ep_set_watermark(b.ep, 0, DAT_WATERMARK_INFINITE));
	fact_event("none_left", b.async, QUIET_US);
	send_and_wait(1);
	fact_event("first", b.async, WAIT_US);
}

static void hard_mark(void)
{
	srq_pair(16);
	for (int i = 0; i < 12; i++)
		must(post_srq(i));
	must(dat_ep_set_watermark(b.ep, DAT_WATERMARK_INFINITE, 2));
	for (int i = 0; i < 3; i++)
		must(post_send(&a, i, 64, 0));
	fact_event("b", b.connect, WAIT_US);
	fact("state", "%s", state_name(b.ep));
	fact_completions("receives", b.recv, 3);
	fact_event("a", a.connect, WAIT_US);
	fact_completions("sends", a.request, 3);
	fact_counts("left");
}

static void recv_query(void)
{
	DAT_COUNT nbufs, span;

	plain_pair();
	for (int i = 0; i < 5; i++)
		must(post_recv(&b, i));
	must(dat_ep_recv_query(b.ep, &nbufs, &span));
	fact("posted", "%d, span %d", nbufs, span);
	send_and_wait(2);
	must(dat_ep_recv_query(b.ep, &nbufs, &span));
	fact("after_two", "%d, span %d", nbufs, span);
}

static void srq_end(void)
{
	srq_pair(16);
	for (int i = 0; i < 6; i++)
		must(post_srq(i));
	send_and_wait(2);
	must(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG));
	fact_event("b", b.connect, WAIT_US);
	fact_completions("receives", b.recv, 2);
	fact_event("more", b.recv, QUIET_US);
	fact_counts("left");
	must(dat_ep_free(b.ep));
	fact_ret("free", dat_srq_free(b.srq));
}

static void full(void)
{
	int n = 0;

	plain_pair();
	while (n < 100 && post_recv(&b, n % SLOTS) == DAT_SUCCESS)
		n++;
	fact("receives", "%d", n);
	fact_ret("one_more", post_recv(&b, 0));
}

const struct scenario queue_scenarios[] = {
	{ "counts", counts },
	{ "low_watermark", low_watermark },
	{ "srq_resize", srq_resize },
	{ "soft_mark", soft_mark },
	{ "hard_mark", hard_mark },
	{ "recv_query", recv_query },
	{ "srq_end", srq_end },
	{ "full", full },
	{ NULL, NULL },
};
