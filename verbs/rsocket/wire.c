/* SPDX-License-Identifier: BSD-3-Clause */
/* wire.c - messages: their slots, limits, sending, and what arrives. */
#include <arpa/inet.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "rsocket.h"

#define MAGIC       0x72736b31u
#define COMPLETIONS 16
#define SENT        (1ull << 32) /* in a wr_id: the request is no Receive */

/* ---- hello ---- */

void rs_hello_fill(const struct rs_socket *rs, struct rs_hello *hello)
{
	*hello = (struct rs_hello){
		.magic = htonl(MAGIC),
		.slots = htonl(rs->rx.slots.n),
		.body = htonl(rs->rx.slots.size - (uint32_t)sizeof(struct rs_head)),
	};
}

/* Private data may be longer than what was sent. */
static bool read_hello(struct rs_hello *hello, const void *data, size_t size)
{
	if (!data || size < sizeof(*hello))
		return false;
	memcpy(hello, data, sizeof(*hello));
	hello->slots = ntohl(hello->slots);
	hello->body = ntohl(hello->body);
	return ntohl(hello->magic) == MAGIC && hello->slots >= RS_SLOTS_LEAST &&
	       hello->slots <= RS_SLOTS_MOST && hello->body >= RS_BODY_LEAST &&
	       hello->body <= RS_BODY_MOST;
}

int rs_hello_check(const void *data, size_t size)
{
	struct rs_hello hello;

	return read_hello(&hello, data, size) ? 0 : -EPROTO;
}

int rs_hello_take(struct rs_socket *rs, const void *data, size_t size)
{
	struct rs_hello hello;

	if (!read_hello(&hello, data, size))
		return -EPROTO;
	rs->tx.peer_slots = hello.slots;
	rs->tx.limit = hello.slots;
	return rs_sender_make(rs, hello.body);
}

/* ---- receiving ---- */

static int post_receive(struct rs_socket *rs, uint32_t slot)
{
	struct rs_slots *slots = &rs->rx.slots;
	struct ibv_sge sge = { .addr = (uintptr_t)slots->memory + (size_t)slot * slots->size,
			       .length = slots->size,
			       .lkey = slots->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;
	int err = ibv_post_recv(rs->id->qp, &wr, &bad);

	if (!err)
		rs->rx.posted++;
	return -err;
}

int rs_receive_all(struct rs_socket *rs)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < rs->rx.slots.n; i++)
		err = post_receive(rs, i);
	rs->rx.told = rs->rx.posted;
	return err;
}

void rs_receive_again(struct rs_socket *rs, uint32_t slot)
{
	if (rs->state < RS_REFUSED && post_receive(rs, slot))
		rs_fail(rs, ECONNRESET);
}

static const uint8_t *slot_of(const struct rs_slots *slots, uint32_t slot)
{
	return slots->memory + (size_t)slot * slots->size;
}

/* The peer has read no more than it was sent, and its limit never falls. */
static bool take_limit(struct rs_sender *tx, uint32_t limit)
{
	if ((int32_t)(limit - tx->limit) < 0 || limit - tx->sent > tx->peer_slots)
		return false;
	tx->limit = limit;
	return true;
}

static struct rs_region region_of(const uint8_t *body)
{
	struct rs_region wire;

	memcpy(&wire, body, sizeof(wire));
	return (struct rs_region){ .offset = be64toh(wire.offset),
				   .length = be64toh(wire.length),
				   .addr = be64toh(wire.addr),
				   .key = ntohl(wire.key) };
}

static void queue_data(struct rs_receiver *rx, uint32_t slot, uint32_t size)
{
	rx->queue[(rx->first + rx->count++) % rx->slots.n] = slot;
	rx->length[slot] = size;
}

/* False: it is nonsense. */
static bool take_message(struct rs_socket *rs, uint32_t slot, uint32_t bytes)
{
	const uint8_t *at = slot_of(&rs->rx.slots, slot);
	uint32_t size = bytes - (uint32_t)sizeof(struct rs_head);
	struct rs_region region;
	struct rs_head head;
	enum rs_type type;

	if (bytes < sizeof(head) || bytes > rs->rx.slots.size)
		return false;
	memcpy(&head, at, sizeof(head));
	type = (enum rs_type)ntohl(head.type);
	if (!take_limit(&rs->tx, ntohl(head.limit)))
		return false;
	switch (type) {
	case RS_DATA:
		if (size == 0 || rs->peer_ended)
			return false;
		queue_data(&rs->rx, slot, size);
		return true;
	case RS_LIMIT:
		break;
	case RS_END:
		rs->peer_ended = true;
		break;
	case RS_MAP:
	case RS_UNMAP:
		if (size != sizeof(region))
			return false;
		region = region_of(at + sizeof(head));
		if (rs_map_told(rs, type, &region))
			return false;
		break;
	default:
		return false;
	}
	rs_receive_again(rs, slot);
	return true;
}

/* ---- sending ---- */

static uint32_t credits_of(const struct rs_sender *tx)
{
	return tx->limit - tx->sent;
}

static uint32_t free_slots(const struct rs_sender *tx)
{
	return tx->slots.n - tx->busy;
}

bool rs_may_write(const struct rs_socket *rs)
{
	return rs->state == RS_CONNECTED && !rs->write_shut && free_slots(&rs->tx) > RS_RESERVE;
}

bool rs_may_send(const struct rs_socket *rs)
{
	return rs_may_write(rs) && credits_of(&rs->tx) > RS_RESERVE;
}

uint8_t *rs_next_body(struct rs_socket *rs)
{
	struct rs_slots *slots = &rs->tx.slots;

	return slots->memory + (size_t)rs->tx.next * slots->size + sizeof(struct rs_head);
}

static int post_request(struct rs_socket *rs, struct ibv_send_wr *wr, uint8_t *from, uint32_t size)
{
	struct ibv_sge sge = { .addr = (uintptr_t)from,
			       .length = size,
			       .lkey = rs->tx.slots.mr->lkey };
	struct ibv_send_wr *bad;
	int err;

	wr->wr_id = SENT;
	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->send_flags = IBV_SEND_SIGNALED;
	if (size <= rs->tx.inline_bytes)
		wr->send_flags |= IBV_SEND_INLINE;
	err = ibv_post_send(rs->id->qp, wr, &bad);
	if (err) {
		rs_fail(rs, ECONNRESET);
		return -err;
	}
	rs->tx.busy++;
	rs->tx.next = (rs->tx.next + 1) % rs->tx.slots.n;
	return 0;
}

static int send_message(struct rs_socket *rs, enum rs_type type, uint32_t size)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct rs_head head = { .limit = htonl(rs->rx.posted), .type = htonl(type) };
	uint8_t *at = rs_next_body(rs) - sizeof(head);
	int err;

	memcpy(at, &head, sizeof(head));
	err = post_request(rs, &wr, at, (uint32_t)sizeof(head) + size);
	if (err)
		return err;
	rs->tx.sent++;
	rs->rx.told = rs->rx.posted;
	return 0;
}

int rs_send_data(struct rs_socket *rs, uint32_t size)
{
	return send_message(rs, RS_DATA, size);
}

int rs_send_write(struct rs_socket *rs, uint32_t size, uint64_t addr, uint32_t key)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
				  .wr = { .rdma = { .remote_addr = addr, .rkey = key } } };

	return post_request(rs, &wr, rs_next_body(rs), size);
}

static void send_notices(struct rs_socket *rs)
{
	struct rs_notice *notice;
	struct rs_region wire;

	while (rs_may_send(rs) && (notice = STAILQ_FIRST(&rs->notices)) != NULL) {
		wire = (struct rs_region){ .offset = htobe64(notice->region.offset),
					   .length = htobe64(notice->region.length),
					   .addr = htobe64(notice->region.addr),
					   .key = htonl(notice->region.key) };
		memcpy(rs_next_body(rs), &wire, sizeof(wire));
		if (send_message(rs, notice->type, sizeof(wire)))
			return;
		STAILQ_REMOVE_HEAD(&rs->notices, link);
		rs->notice_count--;
		free(notice);
	}
}

void rs_send_due(struct rs_socket *rs)
{
	uint32_t kept = rs->end_due || !rs->write_shut ? 1 : 0; /* for the end of the stream */

	send_notices(rs);
	if (rs->state == RS_CONNECTED && rs->end_due && !send_message(rs, RS_END, 0)) {
		rs->end_due = false;
		kept = 0;
	}
	if (rs->state == RS_CONNECTED && rs->rx.posted - rs->rx.told >= rs->rx.slots.n / 2 &&
	    credits_of(&rs->tx) > kept && free_slots(&rs->tx) > kept)
		send_message(rs, RS_LIMIT, 0);
}

/* ---- completions ---- */

/* An RNIC's requests are flushed as soon as the peer has closed the connection. */
static int error_of(const struct rs_socket *rs, enum ibv_wc_status status)
{
	if (status == IBV_WC_WR_FLUSH_ERR && rs->peer_ended)
		return 0;
	return status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_RNR_RETRY_EXC_ERR ? ETIMEDOUT
										    : ECONNRESET;
}

static void take_completion(struct rs_socket *rs, const struct ibv_wc *wc)
{
	if (wc->wr_id == SENT)
		rs->tx.busy--;
	if (wc->status != IBV_WC_SUCCESS)
		rs_fail(rs, error_of(rs, wc->status));
	else if (wc->wr_id != SENT && !take_message(rs, (uint32_t)wc->wr_id, wc->byte_len))
		rs_fail(rs, ECONNRESET);
}

unsigned int rs_drain(struct rs_socket *rs)
{
	struct ibv_wc wc[COMPLETIONS];
	unsigned int all = 0;
	int n;

	if (!rs->cq)
		return 0;
	do {
		n = ibv_poll_cq(rs->cq, COMPLETIONS, wc);
		for (int i = 0; i < n; i++)
			take_completion(rs, &wc[i]);
		all += n > 0 ? (unsigned int)n : 0;
	} while (n == COMPLETIONS);
	return all;
}

unsigned int rs_progress(struct rs_socket *rs)
{
	unsigned int n;

	if (rs->state == RS_LISTENING)
		return rs_take_requests(rs);
	n = rs_drain(rs);
	n += rs_handle_events(rs);
	if (n == 0)
		return 0;
	rs_send_due(rs);
	rs_wake(rs);
	return n;
}

void rs_fail(struct rs_socket *rs, int error)
{
	if (rs->state >= RS_REFUSED)
		return;
	rs->state = RS_OVER;
	rs->error = error;
	rs->pending_error = error;
	rdma_disconnect(rs->id);
	rs_wake(rs);
}
