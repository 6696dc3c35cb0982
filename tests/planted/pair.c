/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "pair.h"

#define QUEUE      64
#define QUALIFIER  4000
#define IDLE_LIMIT 20000 /* iterations in a row without progress */
#define IDLE_US    10

void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

void check(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "?";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "%s: %s %s\n", call, major, minor);
	exit(1);
}

static DAT_EVD_HANDLE end_evd(struct end *end, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd;

	check(dat_evd_create(end->ia, QUEUE, DAT_HANDLE_NULL, flags, &evd), "dat_evd_create");
	return evd;
}

void end_open(struct end *end, const char *adapter, size_t bytes)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN size;
	DAT_VADDR address;

	end->async = DAT_HANDLE_NULL;
	check(dat_ia_open((DAT_NAME_PTR)adapter, QUEUE, &end->async, &end->ia), "dat_ia_open");
	check(dat_pz_create(end->ia, &end->pz), "dat_pz_create");
	end->recv = end_evd(end, DAT_EVD_DTO_FLAG);
	end->request = end_evd(end, DAT_EVD_DTO_FLAG);
	end->connect = end_evd(end, DAT_EVD_CONNECTION_FLAG);
	end->cr = end_evd(end, DAT_EVD_CR_FLAG);
	end->memory = calloc(1, bytes);
	if (!end->memory)
		fail("out of memory");
	region.for_va = end->memory;
	check(dat_lmr_create(end->ia, DAT_MEM_TYPE_VIRTUAL, region, bytes, end->pz,
			     DAT_MEM_PRIV_ALL_FLAG, &end->lmr, &end->context, &end->rmr, &size,
			     &address),
	      "dat_lmr_create");
}

void end_close(struct end *end)
{
	check(dat_lmr_free(end->lmr), "dat_lmr_free");
	check(dat_evd_free(end->recv), "dat_evd_free");
	check(dat_evd_free(end->request), "dat_evd_free");
	check(dat_evd_free(end->connect), "dat_evd_free");
	check(dat_evd_free(end->cr), "dat_evd_free");
	check(dat_pz_free(end->pz), "dat_pz_free");
	check(dat_ia_close(end->ia, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
	free(end->memory);
}

DAT_EP_HANDLE end_ep(struct end *end, int recvs, int requests)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = recvs,
			     .max_request_dtos = requests,
			     .max_recv_iov = 1,
			     .max_request_iov = 1,
			     .max_rdma_size = 4096 };
	DAT_EP_HANDLE ep;

	check(dat_ep_create(end->ia, end->pz, end->recv, end->request, end->connect, &attr, &ep),
	      "dat_ep_create");
	return ep;
}

void connect_pair(struct end *from, DAT_EP_HANDLE from_ep, struct end *to, DAT_EP_HANDLE to_ep)
{
	DAT_IA_ATTR attr;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	check(dat_psp_create(to->ia, QUALIFIER, to->cr, DAT_PSP_CONSUMER_FLAG, &psp),
	      "dat_psp_create");
	check(dat_ia_query(to->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
			   DAT_PROVIDER_FIELD_NONE, NULL),
	      "dat_ia_query");
	check(dat_ep_connect(from_ep, attr.ia_address_ptr, QUALIFIER, DAT_TIMEOUT_INFINITE, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
	      "dat_ep_connect");
	wait_event(to->cr, DAT_CONNECTION_REQUEST_EVENT, &event);
	check(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, to_ep, 0, NULL),
	      "dat_cr_accept");
	wait_event(from->connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	wait_event(to->connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	check(dat_psp_free(psp), "dat_psp_free");
}

static DAT_LMR_TRIPLET segment(const struct end *end, size_t offset, size_t length)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = end->context,
		.virtual_address = (DAT_VADDR)(uintptr_t)(end->memory + offset),
		.segment_length = length,
	};
}

void post_recv(struct end *end, DAT_EP_HANDLE ep, size_t offset, size_t length, DAT_UINT64 cookie)
{
	DAT_LMR_TRIPLET iov = segment(end, offset, length);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	check(dat_ep_post_recv(ep, 1, &iov, c, DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_recv");
}

void post_send(struct end *end, DAT_EP_HANDLE ep, size_t offset, size_t length, DAT_UINT64 cookie)
{
	DAT_LMR_TRIPLET iov = segment(end, offset, length);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	check(dat_ep_post_send(ep, 1, &iov, c, DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_send");
}

int next_event(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_RETURN ret = dat_evd_dequeue(evd, event);

	if (ret == DAT_QUEUE_EMPTY)
		return 0;
	check(ret, "dat_evd_dequeue");
	return 1;
}

void wait_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	DAT_COUNT more;

	check(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, event, &more), "dat_evd_wait");
	if (event->event_number != number)
		fail("another event came");
}

DAT_UINT64 wait_dto(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	wait_event(evd, DAT_DTO_COMPLETION_EVENT, &event);
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		fail("a transfer failed");
	return event.event_data.dto_completion_event_data.user_cookie.as_64;
}

void idle(DAT_EVD_HANDLE evd, int progress)
{
	static int turns;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret;

	if (progress) {
		turns = 0;
		return;
	}
	if (++turns > IDLE_LIMIT)
		fail("nothing happens any more");
	/* Only lets time pass: the threshold is never reached, so the wait takes no event. */
	ret = dat_evd_wait(evd, IDLE_US, QUEUE, &event, &more);
	if (DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED)
		check(ret, "dat_evd_wait");
}
