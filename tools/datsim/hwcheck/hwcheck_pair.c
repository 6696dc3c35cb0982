/* SPDX-License-Identifier: BSD-3-Clause */
/* Two sides of one adapter, connected with each other, and messages between them. */
#include <string.h>
#include <sys/mman.h>

#include "hwcheck.h"

enum {
	LENGTH = 256, /* of EVDs */
	DTOS = 64,
	REGION = PROBE_SLOT * PROBE_SLOTS + PROBE_LONG
};

/* ---- opening ---- */

static void side_memory(struct probe_side *side)
{
	DAT_REGION_DESCRIPTION region;
	DAT_RETURN ret;

	side->memory =
		mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (side->memory == MAP_FAILED)
		probe_fail("no memory");
	region.for_va = side->memory;
	ret = dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region, REGION, side->pz,
			     DAT_MEM_PRIV_ALL_FLAG, &side->lmr, &side->local, &side->remote, NULL,
			     NULL);
	probe_call(ret, "dat_lmr_create");
}

static DAT_EVD_HANDLE side_evd(struct probe_side *side, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	probe_call(dat_evd_create(side->ia, LENGTH, DAT_HANDLE_NULL, flags, &evd),
		   "dat_evd_create");
	return evd;
}

static void side_open(struct probe_side *side, const char *device)
{
	side->async = DAT_HANDLE_NULL;
	probe_call(dat_ia_open((DAT_NAME_PTR)device, 16, &side->async, &side->ia), "dat_ia_open");
	probe_call(dat_pz_create(side->ia, &side->pz), "dat_pz_create");
	side->recv = side_evd(side, DAT_EVD_DTO_FLAG);
	side->request = side_evd(side, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	side->connect = side_evd(side, DAT_EVD_CONNECTION_FLAG);
	side->cr = side_evd(side, DAT_EVD_CR_FLAG);
	side_memory(side);
}

void probe_open(struct probe *c)
{
	/* bytes: the structure has const members */
	_Alignas(DAT_PROVIDER_ATTR) unsigned char bytes[sizeof(DAT_PROVIDER_ATTR)];
	DAT_PROVIDER_ATTR *provider = (DAT_PROVIDER_ATTR *)(void *)bytes;

	side_open(&c->a, c->device);
	side_open(&c->b, c->device);
	MUST(dat_ia_query(c->b.ia, NULL, DAT_IA_FIELD_ALL, &c->attr, DAT_PROVIDER_FIELD_ALL,
			  provider));
	c->private_most = provider->max_private_data_size;
	c->iwarp = provider->rdma_write_for_rdma_read_req == DAT_TRUE;
	MUST(dat_psp_create_any(c->b.ia, &c->qual, c->b.cr, DAT_PSP_CONSUMER_FLAG, &c->psp));
}

void probe_close(struct probe *c)
{
	MUST(dat_ia_close(c->a.ia, DAT_CLOSE_ABRUPT_FLAG));
	MUST(dat_ia_close(c->b.ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* ---- connections ---- */

DAT_EP_HANDLE probe_ep(struct probe_side *side, DAT_SRQ_HANDLE srq)
{
	DAT_EP_ATTR attr = { .service_type = DAT_SERVICE_TYPE_RC,
			     .qos = DAT_QOS_BEST_EFFORT,
			     .max_recv_dtos = DTOS,
			     .max_request_dtos = DTOS,
			     .max_recv_iov = 1,
			     .max_request_iov = 1,
			     .max_rdma_read_in = 1,
			     .max_rdma_read_out = 1,
			     .max_rdma_read_iov = 1,
			     .max_rdma_write_iov = 1,
			     .srq_soft_hw = DAT_HW_DEFAULT };
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	if (srq)
		probe_call(dat_ep_create_with_srq(side->ia, side->pz, side->recv, side->request,
						  side->connect, srq, &attr, &ep),
			   "dat_ep_create_with_srq");
	else
		probe_call(dat_ep_create(side->ia, side->pz, side->recv, side->request,
					 side->connect, &attr, &ep),
			   "dat_ep_create");
	return ep;
}

void probe_connect(struct probe *c)
{
	DAT_EVENT event;

	MUST(dat_ep_connect(c->a.ep, c->attr.ia_address_ptr, c->qual, PROBE_EVENT_US, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = probe_event(c->b.cr, DAT_CONNECTION_REQUEST_EVENT, "the connection request");
	MUST(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, c->b.ep, 0, NULL));
	probe_event(c->a.connect, DAT_CONNECTION_EVENT_ESTABLISHED, "the connection (a)");
	probe_event(c->b.connect, DAT_CONNECTION_EVENT_ESTABLISHED, "the connection (b)");
}

void probe_pair(struct probe *c)
{
	c->a.ep = probe_ep(&c->a, DAT_HANDLE_NULL);
	c->b.ep = probe_ep(&c->b, c->srq);
	probe_connect(c);
}

void probe_disconnect(struct probe *c)
{
	MUST(dat_ep_disconnect(c->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	probe_event(c->a.connect, DAT_CONNECTION_EVENT_DISCONNECTED, "the end (a)");
	probe_event(c->b.connect, DAT_CONNECTION_EVENT_DISCONNECTED, "the end (b)");
}

/* ---- events ---- */

DAT_EVENT probe_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, const char *what)
{
	DAT_COUNT nmore;
	DAT_EVENT event;
	DAT_RETURN ret = dat_evd_wait(evd, PROBE_EVENT_US, 1, &event, &nmore);

	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
		probe_fail("no event for %d s: %s", PROBE_EVENT_US / 1000000, what);
	probe_call(ret, "dat_evd_wait");
	if (event.event_number != number)
		probe_fail("%s: expected event %#x, got %#x", what, (unsigned int)number,
			   (unsigned int)event.event_number);
	return event;
}

DAT_VLEN probe_completion(DAT_EVD_HANDLE evd, DAT_UINT64 cookie, const char *what)
{
	DAT_EVENT event = probe_event(evd, DAT_DTO_COMPLETION_EVENT, what);
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	if (dto->status != DAT_DTO_SUCCESS)
		probe_fail("%s: status %d", what, (int)dto->status);
	if (dto->user_cookie.as_64 != cookie)
		probe_fail("%s: expected number %llu, got %llu", what, (unsigned long long)cookie,
			   (unsigned long long)dto->user_cookie.as_64);
	return dto->transfered_length;
}

/* ---- messages ---- */

DAT_DTO_COOKIE probe_cookie(int n)
{
	DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)n };

	return cookie;
}

DAT_LMR_TRIPLET probe_segment(const struct probe_side *side, int slot, DAT_VLEN length)
{
	DAT_LMR_TRIPLET segment = { .lmr_context = side->local,
				    .virtual_address = (DAT_VADDR)(uintptr_t)(side->memory +
									      slot * PROBE_SLOT),
				    .segment_length = length };

	return segment;
}

DAT_RMR_TRIPLET probe_remote(const struct probe_side *side, int slot, DAT_VLEN length)
{
	DAT_RMR_TRIPLET segment = { .rmr_context = side->remote,
				    .target_address = (DAT_VADDR)(uintptr_t)(side->memory +
									     slot * PROBE_SLOT),
				    .segment_length = length };

	return segment;
}

void probe_recv(struct probe *c, int slot, DAT_VLEN length)
{
	DAT_LMR_TRIPLET segment = probe_segment(&c->b, slot, length);

	if (c->srq)
		MUST(dat_srq_post_recv(c->srq, 1, &segment, probe_cookie(slot)));
	else
		MUST(dat_ep_post_recv(c->b.ep, 1, &segment, probe_cookie(slot),
				      DAT_COMPLETION_DEFAULT_FLAG));
}

void probe_send(struct probe *c, int slot, DAT_VLEN length)
{
	DAT_LMR_TRIPLET segment = probe_segment(&c->a, slot, length);

	MUST(dat_ep_post_send(c->a.ep, 1, &segment, probe_cookie(slot),
			      DAT_COMPLETION_DEFAULT_FLAG));
}

void probe_message(struct probe *c, int to, DAT_VLEN length)
{
	DAT_VLEN arrived;

	probe_fill(&c->a, 0, length, to);
	probe_send(c, 0, length);
	arrived = probe_completion(c->b.recv, (DAT_UINT64)to, "the message");
	if (arrived != length)
		probe_fail("a message of %llu bytes arrives as %llu", (unsigned long long)length,
			   (unsigned long long)arrived);
	probe_holds(&c->b, to, length, to, "the message");
	probe_completion(c->a.request, 0, "the Send");
}

static unsigned char byte_at(DAT_VLEN i, int seed)
{
	return (unsigned char)(i * 7 + i / 251 + (DAT_VLEN)seed * 13 + 1);
}

void probe_fill(struct probe_side *side, int slot, DAT_VLEN length, int seed)
{
	for (DAT_VLEN i = 0; i < length; i++)
		side->memory[(DAT_VLEN)slot * PROBE_SLOT + i] = byte_at(i, seed);
}

void probe_holds(const struct probe_side *side, int slot, DAT_VLEN length, int seed,
		 const char *what)
{
	for (DAT_VLEN i = 0; i < length; i++)
		if (side->memory[(DAT_VLEN)slot * PROBE_SLOT + i] != byte_at(i, seed))
			probe_fail("%s of %llu bytes: byte %llu is another one", what,
				   (unsigned long long)length, (unsigned long long)i);
}
