/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of memory, connections, messages and RDMA. */
#include <string.h>
#include <sys/mman.h>

#include "hwcheck.h"

/* ---- memory ---- */

static void probe_read_only(struct probe *c)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_CONTEXT context;
	DAT_LMR_TRIPLET segment;
	DAT_LMR_HANDLE lmr;
	DAT_RETURN ret;
	void *memory;

	memory = mmap(NULL, PROBE_SLOT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		probe_fail("no memory");
	probe_fill(&c->a, 0, PROBE_SLOT, 3);
	memcpy(memory, c->a.memory, PROBE_SLOT);
	mprotect(memory, PROBE_SLOT, PROT_READ);
	region.for_va = memory;
	ret = dat_lmr_create(c->a.ia, DAT_MEM_TYPE_VIRTUAL, region, PROBE_SLOT, c->a.pz,
			     DAT_MEM_PRIV_LOCAL_READ_FLAG, &lmr, &context, NULL, NULL, NULL);
	probe_call(ret, "dat_lmr_create of memory without write access");
	probe_pair(c);
	probe_recv(c, 1, PROBE_SLOT);
	segment = (DAT_LMR_TRIPLET){ .lmr_context = context,
				     .virtual_address = (DAT_VADDR)(uintptr_t)memory,
				     .segment_length = PROBE_SLOT };
	MUST(dat_ep_post_send(c->a.ep, 1, &segment, probe_cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
	probe_completion(c->b.recv, 1, "the message");
	probe_holds(&c->b, 1, PROBE_SLOT, 3, "the message");
	probe_completion(c->a.request, 0, "the Send");
}

/* ---- connections ---- */

static void expect_private(const void *data, DAT_COUNT size, const unsigned char *sent,
			   DAT_COUNT wanted, const char *side)
{
	if (size != wanted)
		probe_fail("%s: %d bytes arrive as %d", side, (int)wanted, (int)size);
	if (wanted && memcmp(data, sent, (size_t)wanted) != 0)
		probe_fail("%s: other bytes than the peer's", side);
}

static void private_of(struct probe *c, unsigned char *sent, DAT_COUNT size)
{
	DAT_CONNECTION_EVENT_DATA *answer;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	c->a.ep = probe_ep(&c->a, DAT_HANDLE_NULL);
	c->b.ep = probe_ep(&c->b, DAT_HANDLE_NULL);
	MUST(dat_ep_connect(c->a.ep, c->attr.ia_address_ptr, c->qual, PROBE_EVENT_US, size, sent,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = probe_event(c->b.cr, DAT_CONNECTION_REQUEST_EVENT, "the connection request");
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	MUST(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	expect_private(param.private_data, param.private_data_size, sent, size, "the request");
	MUST(dat_cr_accept(cr, c->b.ep, size, sent));
	event = probe_event(c->a.connect, DAT_CONNECTION_EVENT_ESTABLISHED, "the connection");
	answer = &event.event_data.connect_event_data;
	expect_private(answer->private_data, answer->private_data_size, sent, size, "the answer");
	probe_event(c->b.connect, DAT_CONNECTION_EVENT_ESTABLISHED, "the connection (b)");
	probe_disconnect(c);
}

static void probe_private_data(struct probe *c)
{
	unsigned char sent[256];
	DAT_COUNT most = c->private_most < (DAT_COUNT)sizeof(sent) ? c->private_most
								   : (DAT_COUNT)sizeof(sent);

	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (unsigned char)(0x80 + i * 3);
	private_of(c, sent, 0);
	private_of(c, sent, 1);
	private_of(c, sent, most);
	probe_note("0, 1 and %d bytes, both ways", (int)most);
}

static void probe_reject(struct probe *c)
{
	DAT_EVENT event;

	c->a.ep = probe_ep(&c->a, DAT_HANDLE_NULL);
	MUST(dat_ep_connect(c->a.ep, c->attr.ia_address_ptr, c->qual, PROBE_EVENT_US, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = probe_event(c->b.cr, DAT_CONNECTION_REQUEST_EVENT, "the connection request");
	MUST(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
	probe_event(c->a.connect, DAT_CONNECTION_EVENT_PEER_REJECTED, "the rejection");
	MUST(dat_ep_reset(c->a.ep));
	MUST(dat_psp_free(c->psp));
	MUST(dat_ep_connect(c->a.ep, c->attr.ia_address_ptr, c->qual, PROBE_EVENT_US, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	probe_event(c->a.connect, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, "the missing listener");
}

/* Each side ends it once; the other hears of it though it only receives. */
static void probe_ends(struct probe *c)
{
	struct probe_side *sides[] = { &c->a, &c->b };

	for (int i = 0; i < 2; i++) {
		probe_pair(c);
		probe_recv(c, 1, PROBE_SLOT);
		MUST(dat_ep_disconnect(sides[i]->ep, DAT_CLOSE_ABRUPT_FLAG));
		probe_event(c->a.connect, DAT_CONNECTION_EVENT_DISCONNECTED, "the end (a)");
		probe_event(c->b.connect, DAT_CONNECTION_EVENT_DISCONNECTED, "the end (b)");
		probe_event(c->b.recv, DAT_DTO_COMPLETION_EVENT, "the flushed Receive");
	}
	probe_pair(c);
	MUST(dat_ep_free(c->a.ep));
	probe_event(c->b.connect, DAT_CONNECTION_EVENT_DISCONNECTED, "the end of a freed peer");
}

/* ---- messages and RDMA ---- */

static void probe_messages(struct probe *c)
{
	static const DAT_VLEN lengths[] = { 1, 64, 65, 1024, PROBE_SLOT, PROBE_LONG };

	probe_pair(c);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		probe_recv(c, PROBE_SLOTS, PROBE_LONG);
		probe_message(c, PROBE_SLOTS, lengths[i]);
	}
	probe_disconnect(c);
	probe_note("1 byte to %d KiB", PROBE_LONG / 1024);
}

/* Without a Receive, the message waits for one. */
static void probe_rnr(struct probe *c)
{
	DAT_EVENT event;

	if (c->iwarp)
		probe_skip("iWARP has no such thing: a message without a Receive ends the "
			   "connection");
	probe_pair(c);
	probe_fill(&c->a, 0, 64, 5);
	probe_send(c, 0, 64);
	if (DAT_GET_TYPE(dat_evd_dequeue(c->a.request, &event)) != DAT_QUEUE_EMPTY)
		probe_fail("the Send completed before there was a Receive");
	probe_recv(c, 1, PROBE_SLOT);
	probe_completion(c->b.recv, 1, "the message");
	probe_holds(&c->b, 1, 64, 5, "the message");
	probe_completion(c->a.request, 0, "the Send");
	probe_disconnect(c);
}

static void probe_write(struct probe *c)
{
	DAT_LMR_TRIPLET from = probe_segment(&c->a, 0, PROBE_SLOT);
	DAT_RMR_TRIPLET to = probe_remote(&c->b, 2, PROBE_SLOT);

	probe_pair(c);
	probe_recv(c, 1, PROBE_SLOT);
	probe_fill(&c->a, 0, PROBE_SLOT, 7);
	MUST(dat_ep_post_rdma_write(c->a.ep, 1, &from, probe_cookie(0), &to,
				    DAT_COMPLETION_DEFAULT_FLAG));
	probe_completion(c->a.request, 0, "the Write");
	/* A message behind it says that it has arrived, on iWARP as well. */
	probe_message(c, 1, 8);
	probe_fill(&c->a, 0, PROBE_SLOT, 7);
	probe_holds(&c->b, 2, PROBE_SLOT, 7, "the Write");
	probe_disconnect(c);
}

static void probe_read(struct probe *c)
{
	DAT_LMR_TRIPLET to = probe_segment(&c->a, 3, PROBE_SLOT);
	DAT_RMR_TRIPLET from = probe_remote(&c->b, 2, PROBE_SLOT);

	probe_pair(c);
	probe_fill(&c->b, 2, PROBE_SLOT, 9);
	for (int i = 0; i < 8; i++) {
		memset(c->a.memory + 3 * PROBE_SLOT, 0, PROBE_SLOT);
		MUST(dat_ep_post_rdma_read(c->a.ep, 1, &to, probe_cookie(i), &from,
					   DAT_COMPLETION_DEFAULT_FLAG));
		probe_completion(c->a.request, (DAT_UINT64)i, "the Read");
		probe_holds(&c->a, 3, PROBE_SLOT, 9, "the Read");
	}
	probe_disconnect(c);
}

static DAT_RMR_CONTEXT bind_window(struct probe *c, DAT_RMR_HANDLE rmr)
{
	DAT_LMR_TRIPLET range = probe_segment(&c->b, 2, PROBE_SLOT);
	DAT_RMR_CONTEXT context = 0;
	DAT_EVENT event;

	MUST(dat_rmr_bind(rmr, &range, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, c->b.ep, probe_cookie(1),
			  DAT_COMPLETION_DEFAULT_FLAG, &context));
	event = probe_event(c->b.request, DAT_RMR_BIND_COMPLETION_EVENT, "the bind");
	if (event.event_data.rmr_completion_event_data.status != DAT_RMR_BIND_SUCCESS)
		probe_fail("the bind: status %d",
			   (int)event.event_data.rmr_completion_event_data.status);
	return context;
}

static void probe_windows(struct probe *c)
{
	DAT_LMR_TRIPLET from = probe_segment(&c->a, 0, PROBE_SLOT);
	DAT_RMR_TRIPLET to = probe_remote(&c->b, 2, PROBE_SLOT);
	DAT_RMR_HANDLE rmr;

	if (c->attr.max_rmrs == 0)
		probe_skip("the adapter has no memory windows of type 1");
	MUST(dat_rmr_create(c->b.pz, &rmr));
	probe_pair(c);
	probe_recv(c, 1, PROBE_SLOT);
	to.rmr_context = bind_window(c, rmr);
	probe_fill(&c->a, 0, PROBE_SLOT, 11);
	MUST(dat_ep_post_rdma_write(c->a.ep, 1, &from, probe_cookie(0), &to,
				    DAT_COMPLETION_DEFAULT_FLAG));
	probe_completion(c->a.request, 0, "the Write");
	probe_message(c, 1, 8);
	probe_holds(&c->b, 2, PROBE_SLOT, 11, "the Write through a window");
	MUST(dat_rmr_free(rmr));
	probe_disconnect(c);
}

const struct hwcheck_row hwcheck_data[] = {
	{ "memory without write access can be registered", probe_read_only },
	{ "private data arrives as it was sent", probe_private_data },
	{ "a refusal and a missing listener are told apart", probe_reject },
	{ "both sides hear of the end of a connection", probe_ends },
	{ "messages arrive whole", probe_messages },
	{ "a message waits for its Receive (RNR)", probe_rnr },
	{ "RDMA Writes", probe_write },
	{ "RDMA Reads", probe_read },
	{ "memory windows", probe_windows },
	{ NULL, NULL },
};
