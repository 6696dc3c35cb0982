/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dto.c - each DTO from its post to its one completion. A DTO owns the slot of its number in the
 * memory of its side; a message starts with its connection and number, so that it can be
 * recognised.
 */
#include <string.h>

#include "prog.h"

#define POISON 0xa5
#define SPOILT 0xee
#define HEADER 8

int dto_side(const struct prog *p, int d)
{
	const struct dto *dto = &p->dto[d];

	return dto->srq != NONE ? p->srq[dto->srq].side : p->ep[dto->ep].side;
}

uint8_t *dto_slot(const struct prog *p, int d)
{
	return p->side[dto_side(p, d)].memory + (size_t)d * SLOT;
}

int dto_new(struct prog *p, enum dto_kind kind, int ep, int srq, int length)
{
	for (int n = 0; n < DTOS; n++) {
		int d = (p->dto_hint + n) % DTOS;

		if (p->dto[d].kind != DTO_FREE)
			continue;
		p->dto_hint = d + 1;
		p->dto[d] = (struct dto){ .kind = kind,
					  .serial = ++p->serial,
					  .ep = ep,
					  .srq = srq,
					  .length = length,
					  .rmr = NONE };
		return d;
	}
	return NONE;
}

bool dtos_left(const struct prog *p)
{
	int n = 0;

	for (int d = 0; d < DTOS && n < QUEUE; d++)
		n += p->dto[d].kind == DTO_FREE;
	return n == QUEUE;
}

void dto_free(struct prog *p, int d)
{
	if (p->dto[d].rmr != NONE)
		p->rmr[p->dto[d].rmr].users--;
	p->dto[d].kind = DTO_FREE;
}

DAT_DTO_COOKIE dto_cookie(const struct prog *p, int d)
{
	return (DAT_DTO_COOKIE){ .as_64 = (uint64_t)p->dto[d].serial << 32 | (uint32_t)d };
}

static DAT_LMR_TRIPLET segment(const struct prog *p, int d, int from, int length)
{
	int side = dto_side(p, d);

	return (DAT_LMR_TRIPLET){ .lmr_context = p->side[side].lkey,
				  .virtual_address = (DAT_VADDR)(uintptr_t)(dto_slot(p, d) + from),
				  .segment_length = (DAT_VLEN)length };
}

/* One segment or, sometimes, two; one of those may be empty. */
int dto_segments(struct prog *p, int d, DAT_LMR_TRIPLET iov[2])
{
	int length = p->dto[d].length, cut;

	if (!chance(p, 20)) {
		iov[0] = segment(p, d, 0, length);
		return 1;
	}
	cut = pick(p, length + 1);
	iov[0] = segment(p, d, 0, cut);
	iov[1] = segment(p, d, cut, length - cut);
	return 2;
}

/* ---- what messages hold ---- */

static uint8_t byte_at(uint32_t id, int end, int message, int i)
{
	return (uint8_t)(id * 31 + (uint32_t)end * 17 + (uint32_t)message * 7 + (uint32_t)i +
			 (uint32_t)i / 251);
}

static void fill(struct prog *p, int d, uint32_t id, int end)
{
	uint8_t *to = dto_slot(p, d);
	uint32_t header[2] = { id << 1 | (uint32_t)end, (uint32_t)p->dto[d].message };

	for (int i = 0; i < p->dto[d].length; i++)
		to[i] = byte_at(id, end, p->dto[d].message, i);
	if (p->dto[d].length >= HEADER)
		memcpy(to, header, HEADER);
}

static void check_data(struct prog *p, int d, uint32_t id, int end, int message, int length)
{
	const uint8_t *at = dto_slot(p, d);

	for (int i = length >= HEADER ? HEADER : 0; i < length; i++)
		if (at[i] != byte_at(id, end, message, i))
			fails(p, "dto %d: byte %d of message %d is wrong", d, i, message);
	for (int i = length; i < p->dto[d].length; i++)
		if (at[i] != POISON)
			fails(p, "dto %d: byte %d behind message %d was written", d, i, message);
}

/* ---- posting ---- */

static void queue_add(struct prog *p, int *queue, int *count, int d)
{
	if (*count == QUEUE)
		fails(p, "the program posted too much");
	queue[(*count)++] = d;
}

void request_posted(struct prog *p, int d, DAT_COMPLETION_FLAGS flags)
{
	struct ep *ep = &p->ep[p->dto[d].ep];

	p->dto[d].flags = flags;
	p->dto[d].live = state_of(p, p->dto[d].ep) == DAT_EP_STATE_CONNECTED;
	queue_add(p, ep->sends, &ep->send_count, d);
	p->count[N_SENT]++;
}

void post_send(struct prog *p, int e, int length, DAT_COMPLETION_FLAGS flags)
{
	struct conn *c = conn_of(p, e);
	int end = life_of(p, e)->end, d = dto_new(p, DTO_SEND, e, NONE, length), pieces;
	DAT_LMR_TRIPLET iov[2];

	says(p, "  send: dto %d of ep %d, %d bytes, flags %#x", d, e, length, (unsigned int)flags);
	if (state_of(p, e) == DAT_EP_STATE_CONNECTED) {
		p->dto[d].message = ++c->way[end].sent;
		c->way[end].length[p->dto[d].message % (QUEUE * 2)] = length;
		fill(p, d, c->id, end);
	}
	pieces = dto_segments(p, d, iov);
	ok(p, "dat_ep_post_send",
	   dat_ep_post_send(p->ep[e].handle, pieces, iov, dto_cookie(p, d), flags));
	request_posted(p, d, flags);
	if (c && c->ep[1 - end] != NONE)
		model_starves(p, c->ep[1 - end]);
}

static void poison(struct prog *p, int d)
{
	memset(dto_slot(p, d), POISON, (size_t)p->dto[d].length);
}

void post_recv(struct prog *p, int e, int length)
{
	struct ep *ep = &p->ep[e];
	int d = dto_new(p, DTO_RECV, e, NONE, length), pieces;
	DAT_LMR_TRIPLET iov[2];

	says(p, "  receive: dto %d of ep %d, %d bytes", d, e, length);
	poison(p, d);
	pieces = dto_segments(p, d, iov);
	ok(p, "dat_ep_post_recv",
	   dat_ep_post_recv(ep->handle, pieces, iov, dto_cookie(p, d),
			    DAT_COMPLETION_DEFAULT_FLAG));
	if (ep->recv_count == 0 || length < ep->shortest)
		ep->shortest = length;
	queue_add(p, ep->recvs, &ep->recv_count, d);
	ep->recv_ever = true;
	model_starves(p, e);
}

void post_srq(struct prog *p, int q, int length)
{
	struct srq *srq = &p->srq[q];
	int d = dto_new(p, DTO_RECV, NONE, q, length), pieces;
	DAT_LMR_TRIPLET iov[2];

	says(p, "  receive: dto %d of srq %d, %d bytes", d, q, length);
	poison(p, d);
	pieces = dto_segments(p, d, iov);
	ok(p, "dat_srq_post_recv", dat_srq_post_recv(srq->handle, pieces, iov, dto_cookie(p, d)));
	if (srq->count.outstanding == 0 || length < srq->shortest)
		srq->shortest = length;
	if (oracle_srq_post(&srq->count) != ORACLE_OK)
		fails(p, "srq %d took a Receive more than it has room for", q);
	srq->fresh++;
	for (int e = 0; e < EPS; e++)
		if (p->ep[e].handle && !p->ep[e].dead && p->ep[e].srq == q)
			model_starves(p, e);
}

/* ---- completing ---- */

/* Every status but SUCCESS says that the connection is over. */
static void must_be_over(struct prog *p, int e, int d, int status)
{
	DAT_EP_STATE state;

	ok(p, "dat_ep_get_status", dat_ep_get_status(p->ep[e].handle, &state, NULL, NULL));
	model_shows(p, e, state);
	if (state != DAT_EP_STATE_DISCONNECTED)
		fails(p, "dto %d completed with status %d, and ep %d is %s", d, status, e,
		      state_name(state));
}

static void check_failure(struct prog *p, int e, int d, int status)
{
	const struct conn *c = conn_of(p, e);
	bool send = p->dto[d].kind >= DTO_SEND;
	unsigned int causes = c ? c->causes : 0;
	bool legal;

	must_be_over(p, e, d, status);
	switch (status) {
	case DAT_DTO_ERR_FLUSHED:
		p->count[N_FLUSHED]++;
		return;
	case DAT_DTO_ERR_LOCAL_LENGTH:
		legal = !send && causes & TOO_LONG;
		break;
	case DAT_DTO_ERR_RECEIVER_NOT_READY:
		legal = send && causes & STARVED;
		break;
	case DAT_DTO_ERR_REMOTE_RESPONDER:
		legal = send && causes & (TOO_LONG | HARD);
		break;
	case DAT_DTO_ERR_TRANSPORT:
		legal = send && causes & LOSSY;
		break;
	case DAT_DTO_ERR_REMOTE_ACCESS:
		legal = p->dto[d].kind > DTO_SEND && causes & ACCESS;
		break;
	default:
		legal = false;
	}
	if (!legal)
		fails(p, "dto %d completed with status %d, which cannot be", d, status);
}

static int find(const int *queue, int count, int d)
{
	for (int n = 0; n < count; n++)
		if (queue[n] == d)
			return n;
	return NONE;
}

static void cut(int *queue, int *count, int from, int n)
{
	memmove(queue + from, queue + from + n, (size_t)(*count - from - n) * sizeof(*queue));
	*count -= n;
}

/* Requests before it were suppressed and succeeded, or this completion is too early. */
static void pass_suppressed(struct prog *p, int e, int at)
{
	struct ep *ep = &p->ep[e];

	for (int n = 0; n < at; n++) {
		int d = ep->sends[n];

		if (!(p->dto[d].flags & DAT_COMPLETION_SUPPRESS_FLAG) && !ep->holey)
			fails(p, "ep %d: dto %d completed before dto %d", e, ep->sends[at], d);
		p->count[N_SUPPRESSED]++;
		if (!ep->holey)
			rdma_succeeded(p, d);
		dto_free(p, d);
	}
	cut(ep->sends, &ep->send_count, 0, at);
}

static void send_done(struct prog *p, int e, int d, const DAT_DTO_COMPLETION_EVENT_DATA *data)
{
	struct ep *ep = &p->ep[e];
	int at = find(ep->sends, ep->send_count, d);
	struct conn *c = conn_of(p, e);

	if (at == NONE)
		fails(p, "dto %d completed, and is not out", d);
	pass_suppressed(p, e, at);
	cut(ep->sends, &ep->send_count, 0, 1);
	if (data->status != DAT_DTO_SUCCESS) {
		check_failure(p, e, d, (int)data->status);
		ep->failed = true;
	} else {
		if (p->dto[d].flags & DAT_COMPLETION_SUPPRESS_FLAG)
			fails(p, "dto %d was suppressed, and told of its success", d);
		if (!c || !p->dto[d].live || ep->failed)
			fails(p, "dto %d succeeded, and it cannot", d);
		if (p->dto[d].kind != DTO_BIND &&
		    data->transfered_length != (DAT_VLEN)p->dto[d].length)
			fails(p, "dto %d: wrong length", d);
		c->way[life_of(p, e)->end].acked = p->dto[d].message;
		rdma_succeeded(p, d);
	}
	dto_free(p, d);
}

/* The number of the message in the buffer */
static int message_in(struct prog *p, int e, int d, int length)
{
	struct conn *c = conn_of(p, e);
	int end = 1 - life_of(p, e)->end, got = c->way[end].got;
	uint32_t header[2];

	if (length < HEADER)
		return got + 1;
	memcpy(header, dto_slot(p, d), HEADER);
	if (header[0] != (c->id << 1 | (uint32_t)end))
		fails(p, "dto %d holds a message of another connection", d);
	return (int)header[1];
}

/* The call that returned the completion may have seen the connection end, too. */
static bool is_up_now(struct prog *p, int e)
{
	DAT_EP_STATE state;

	if (!is_up(p, e))
		return false;
	ok(p, "dat_ep_get_status", dat_ep_get_status(p->ep[e].handle, &state, NULL, NULL));
	return state == DAT_EP_STATE_CONNECTED || state == DAT_EP_STATE_DISCONNECT_PENDING;
}

static void message_came(struct prog *p, int e, int d, int length)
{
	struct conn *c = conn_of(p, e);
	struct way *way;
	int end = 1 - life_of(p, e)->end, n;

	if (!c || length > p->dto[d].length)
		fails(p, "dto %d holds %d bytes, and it cannot", d, length);
	way = &c->way[end];
	n = message_in(p, e, d, length);
	/*
	 * Where messages overtake, whole ones behind a half one complete when the connection ends.
	 */
	if (n > way->got + 1 && n <= way->sent && p->config.profile == DAT_SIM_PROFILE_IWARP)
		must_be_over(p, e, d, DAT_DTO_SUCCESS);
	else if (n != way->got + 1 || (n > way->sent && !p->ep[e].holey))
		fails(p, "ep %d got message %d after %d of %d", e, n, way->got, way->sent);
	if (way->length[n % (QUEUE * 2)] != length)
		fails(p, "message %d came with %d bytes", n, length);
	check_data(p, d, c->id, end, n, length);
	/* On iwarp the connection may end before the Writes in front of this message arrive. */
	if (c->ep[end] != NONE && (p->config.profile == DAT_SIM_PROFILE_IB || is_up_now(p, e)))
		writes_came(p, c->ep[end], n);
	way->got = n;
	p->count[N_RECEIVED]++;
}

/* Receives complete in the order of posting, except on iwarp, where messages overtake. */
static void check_recv_order(struct prog *p, int e, int d)
{
	struct ep *ep = &p->ep[e];

	if (p->config.profile == DAT_SIM_PROFILE_IB && p->dto[d].serial <= ep->last_recv)
		fails(p, "ep %d: dto %d was posted before the last that completed", e, d);
	ep->last_recv = p->dto[d].serial;
	if (ep->srq == NONE && p->config.profile == DAT_SIM_PROFILE_IB && ep->recvs[0] != d &&
	    !ep->holey)
		fails(p, "ep %d: dto %d completed before dto %d", e, d, ep->recvs[0]);
}

static void recv_done(struct prog *p, int e, int d, const DAT_DTO_COMPLETION_EVENT_DATA *data)
{
	struct ep *ep = &p->ep[e];
	int at = find(ep->recvs, ep->recv_count, d);

	if (p->dto[d].srq != ep->srq || (ep->srq == NONE && at == NONE))
		fails(p, "dto %d completed on ep %d, which has no such Receive", d, e);
	check_recv_order(p, e, d);
	if (data->status == DAT_DTO_SUCCESS)
		message_came(p, e, d, (int)data->transfered_length);
	else
		check_failure(p, e, d, (int)data->status);
	if (ep->srq == NONE)
		cut(ep->recvs, &ep->recv_count, at, 1);
	else
		oracle_srq_reap(&p->srq[ep->srq].count);
	dto_free(p, d);
}

static int ep_named(struct prog *p, DAT_EP_HANDLE handle)
{
	for (int e = 0; e < EPS; e++)
		if (p->ep[e].handle == handle && !p->ep[e].dead)
			return e;
	fails(p, "a completion names an Endpoint that is not there");
}

void dto_done(struct prog *p, int v, const DAT_DTO_COMPLETION_EVENT_DATA *data)
{
	uint32_t d = (uint32_t)data->user_cookie.as_64;
	enum dto_kind kind;
	int e;

	if (d >= DTOS || p->dto[d].kind == DTO_FREE ||
	    p->dto[d].serial != data->user_cookie.as_64 >> 32)
		fails(p, "a completion with the cookie of no DTO that is out");
	kind = p->dto[d].kind;
	/* Completions of binds name no Endpoint. */
	e = data->ep_handle ? ep_named(p, data->ep_handle) : p->dto[d].ep;
	if (!data->ep_handle != (kind == DTO_BIND))
		fails(p, "dto %u: a completion of another kind", d);
	if (kind >= DTO_SEND ? p->dto[d].ep != e : p->dto[d].srq == NONE && p->dto[d].ep != e)
		fails(p, "dto %u completed on ep %d", d, e);
	if (v != (kind >= DTO_SEND ? p->ep[e].request : p->ep[e].recv))
		fails(p, "dto %u completed on evd %d", d, v);
	says(p, "    evd %d: dto %u of ep %d, status %d", v, d, e, (int)data->status);
	if (kind >= DTO_SEND)
		send_done(p, e, (int)d, data);
	else
		recv_done(p, e, (int)d, data);
}

/* ---- the end ---- */

/* A message of a DTO that is void must never arrive: its bytes change. */
void dto_void(struct prog *p, int e)
{
	struct ep *ep = &p->ep[e];

	for (int n = 0; n < ep->send_count; n++) {
		memset(dto_slot(p, ep->sends[n]), SPOILT, (size_t)p->dto[ep->sends[n]].length);
		dto_free(p, ep->sends[n]);
	}
	for (int n = 0; n < ep->recv_count; n++)
		dto_free(p, ep->recvs[n]);
	p->count[N_VOIDED] += (unsigned long)(ep->send_count + ep->recv_count);
	ep->send_count = ep->recv_count = 0;
	ep->last_recv = 0;
}

/* A suppressed Send that is still out succeeded silently, so its message is there. */
static void check_suppressed(struct prog *p, int e)
{
	struct ep *ep = &p->ep[e];
	const struct conn *c = conn_of(p, e);
	int end = life_of(p, e)->end, peer = c ? c->ep[1 - end] : NONE;

	for (int n = 0; n < ep->send_count; n++) {
		const struct dto *dto = &p->dto[ep->sends[n]];

		if (ep->holey)
			continue;
		if (!(dto->flags & DAT_COMPLETION_SUPPRESS_FLAG))
			fails(p, "dto %d never completed", ep->sends[n]);
		if (!dto->live || ep->failed)
			fails(p, "dto %d never told of its end", ep->sends[n]);
		if (dto->kind == DTO_SEND && peer != NONE && !p->ep[peer].holey &&
		    dto->message > c->way[end].got)
			fails(p, "dto %d never told of its end, its message did not come",
			      ep->sends[n]);
	}
	pass_suppressed(p, e, ep->send_count);
}

void dto_all_done(struct prog *p, int e)
{
	struct ep *ep = &p->ep[e];
	const struct conn *c = conn_of(p, e);
	DAT_EP_STATE state = state_of(p, e);
	int end = life_of(p, e)->end;

	check_suppressed(p, e);
	if (state == DAT_EP_STATE_DISCONNECTED && ep->holey) {
		for (int n = 0; n < ep->recv_count; n++)
			dto_free(p, ep->recvs[n]);
		ep->recv_count = 0;
	}
	if (state == DAT_EP_STATE_DISCONNECTED && ep->recv_count > 0)
		fails(p, "ep %d: %d Receives were never flushed", e, ep->recv_count);
	if (state == DAT_EP_STATE_CONNECTED && c->way[1 - end].got != c->way[1 - end].sent)
		fails(p, "ep %d got %d messages of %d, and the network is at rest", e,
		      c->way[1 - end].got, c->way[1 - end].sent);
	/* What a Send's success promised must have come. */
	if (c && !ep->holey && c->way[1 - end].acked > c->way[1 - end].got)
		fails(p, "ep %d got %d messages, and %d Sends succeeded", e, c->way[1 - end].got,
		      c->way[1 - end].acked);
}
