/* SPDX-License-Identifier: BSD-3-Clause */
/* cm_ids.c - two ids of librdmacm and their channel: see cm_ids.h. */
#include "cm_ids.h"

#include <arpa/inet.h>
#include <poll.h>

struct rdma_event_channel *channel;
struct rdma_cm_id *a, *b;

void begin(void)
{
	channel = rdma_create_event_channel();
	ck_assert_ptr_nonnull(channel);
	ck_assert_int_eq(rdma_create_id(channel, &a, NULL, RDMA_PS_TCP), 0);
	ck_assert_int_eq(rdma_create_id(channel, &b, NULL, RDMA_PS_TCP), 0);
}

void end(void)
{
	ck_assert_int_eq(rdma_destroy_id(a), 0);
	ck_assert_int_eq(rdma_destroy_id(b), 0);
	rdma_destroy_event_channel(channel);
}

int bind_to(struct rdma_cm_id *id, const char *ip, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	ck_assert_int_eq(inet_pton(AF_INET, ip, &in.sin_addr), 1);
	return rdma_bind_addr(id, (struct sockaddr *)&in);
}

int resolve_to(struct rdma_cm_id *id, const char *ip)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	ck_assert_int_eq(inet_pton(AF_INET, ip, &in.sin_addr), 1);
	return rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, 1000);
}

void take(struct rdma_event_channel *from, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	ck_assert_int_eq(rdma_get_cm_event(from, &event), 0);
	ck_assert_str_eq(rdma_event_str(event->event), rdma_event_str(type));
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
}

bool is_readable(const struct rdma_event_channel *from)
{
	struct pollfd pfd = { .fd = from->fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}
