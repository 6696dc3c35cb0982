/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages, RDMA and windows, and their errors. */
#include <string.h>

#include "parity.h"

static void sends(void)
{
	plain_pair();
	memset(a.memory, 0x5a, SLOT_SIZE);
	for (int i = 0; i < 6; i++)
		must(post_recv(&b, 8 + i));
	must(post_send(&a, 0, 1, 0));
	must(post_send(&a, 0, 64, 0));
	must(post_send(&a, 0, SLOT_SIZE, 0));
	must(post_send(&a, 0, 0, 0));
	must(post_send(&a, 0, 100, DAT_COMPLETION_SUPPRESS_FLAG));
	must(post_send(&a, 0, 101, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	fact_completions("receives", b.recv, 6);
	fact_completions("sends", a.request, 5);
	fact_event("more", a.request, QUIET_US);
	fact("data", "%s",
	     memcmp(a.memory, b.memory + 10 * SLOT_SIZE, SLOT_SIZE) == 0 ? "same" : "other");
}

static DAT_RMR_TRIPLET remote(DAT_RMR_CONTEXT context, int slot, DAT_VLEN length)
{
	DAT_RMR_TRIPLET t = { .rmr_context = context,
			      .target_address = (uintptr_t)b.memory + (size_t)slot * SLOT_SIZE,
			      .segment_length = length };

	return t;
}

static DAT_RETURN write_to(DAT_RMR_TRIPLET to, DAT_VLEN length)
{
	DAT_LMR_TRIPLET iov = segment(&a, 0, length);
	DAT_DTO_COOKIE cookie = { .as_64 = 77 };

	return dat_ep_post_rdma_write(a.ep, 1, &iov, cookie, &to, DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN read_from(DAT_RMR_TRIPLET from, DAT_VLEN length)
{
	DAT_LMR_TRIPLET iov = segment(&a, 1, length);
	DAT_DTO_COOKIE cookie = { .as_64 = 78 };

	return dat_ep_post_rdma_read(a.ep, 1, &iov, cookie, &from, DAT_COMPLETION_DEFAULT_FLAG);
}

static void rdma(void)
{
	plain_pair();
	memset(a.memory, 0x3c, SLOT_SIZE);
	must(write_to(remote(b.rmr_context, 3, 2000), 2000));
	fact_completions("write", a.request, 1);
	fact("written", "%s", memcmp(a.memory, b.memory + 3 * SLOT_SIZE, 2000) ? "other" : "same");
	must(read_from(remote(b.rmr_context, 3, 1500), SLOT_SIZE));
	fact_completions("read", a.request, 1);
	fact("read_back", "%s", memcmp(a.memory, a.memory + SLOT_SIZE, 1500) ? "other" : "same");
	fact("read_beyond", "%s", a.memory[SLOT_SIZE + 1500] ? "written" : "untouched");
	must(write_to(remote(b.rmr_context, 3, 0), 0));
	fact_completions("write_nothing", a.request, 1);
}

static void bad_key(void)
{
	plain_pair();
	must(post_recv(&b, 0));
	must(write_to(remote(b.rmr_context ^ 0x5500u, 3, 64), 64));
	fact_completions("write", a.request, 1);
	fact_event("a", a.connect, WAIT_US);
	fact_event("b", b.connect, WAIT_US);
	fact_completions("receive", b.recv, 1);
}

static void window(void)
{
	DAT_LMR_TRIPLET iov = segment(&b, 5, 1024), none = { .segment_length = 0 };
	DAT_RMR_COOKIE cookie = { .as_64 = 9 };
	DAT_RMR_CONTEXT context = 0;
	DAT_RMR_HANDLE rmr;
	DAT_RETURN ret;

	plain_pair();
	ret = dat_rmr_create(b.pz, &rmr);
	fact_ret("create", ret);
	if (ret != DAT_SUCCESS)
		return;
	must(dat_rmr_bind(rmr, &iov, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, b.ep, cookie,
			  DAT_COMPLETION_DEFAULT_FLAG, &context));
	fact_completions("bind", b.request, 1);
	fact("context", "%s", context ? "one" : "none");
	must(write_to(remote(context, 5, 1024), 1024));
	fact_completions("write", a.request, 1);
	fact_ret("lmr_free", dat_lmr_free(b.lmr));
	must(dat_rmr_bind(rmr, &none, DAT_MEM_PRIV_NONE_FLAG, b.ep, cookie,
			  DAT_COMPLETION_DEFAULT_FLAG, &context));
	fact_completions("unbind", b.request, 1);
	must(write_to(remote(context, 5, 64), 64));
	fact_completions("write_unbound", a.request, 1);
	fact_event("a", a.connect, WAIT_US);
	must(dat_rmr_free(rmr));
}

static void too_long(void)
{
	DAT_LMR_TRIPLET iov = segment(&b, 0, 100);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	plain_pair();
	must(dat_ep_post_recv(b.ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	must(post_send(&a, 0, 2000, 0));
	fact_completions("receive", b.recv, 1);
	fact_completions("send", a.request, 1);
	fact_event("a", a.connect, WAIT_US);
	fact_event("b", b.connect, WAIT_US);
}

static void no_buffer(void)
{
	plain_pair();
	must(post_send(&a, 0, 64, 0));
	fact_completions("send", a.request, 1);
	fact_event("a", a.connect, WAIT_US);
	fact_event("b", b.connect, WAIT_US);
}

static void from_passive_side(void)
{
	plain_pair();
	must(post_recv(&a, 0));
	must(post_send(&b, 0, 64, 0));
	fact_completions("receive", a.recv, 1);
	fact_completions("send", b.request, 1);
}

static void many(void)
{
	int received = 0, sent = 0;
	DAT_EVENT event;

	plain_pair();
	for (int i = 0; i < SLOTS; i++)
		must(post_recv(&b, i));
	for (int n = 0; n < 2000; n++) {
		if (post_send(&a, n % SLOTS, 64, 0) != DAT_SUCCESS)
			break;
		if (!take(b.recv, WAIT_US, &event))
			break;
		received++;
		must(post_recv(&b, n % SLOTS));
		if (!take(a.request, WAIT_US, &event))
			break;
		sent++;
	}
	fact("received", "%d", received);
	fact("sent", "%d", sent);
}

const struct scenario message_scenarios[] = {
	{ "sends", sends },
	{ "rdma", rdma },
	{ "bad_key", bad_key },
	{ "window", window },
	{ "too_long", too_long },
	{ "no_buffer", no_buffer },
	{ "from_passive_side", from_passive_side },
	{ "many", many },
	{ NULL, NULL },
};
