/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_value.c - objects and structures of libibverbs as arguments: see verbs_kit.h. */
#include <endian.h>
#include <string.h>

#include "tests/support/support.h"
#include "verbs_kit.h"

/* ---- objects ---- */

/* The first value is the proper one. */
#define OBJECTS(name, number, ...)                                      \
	static uint64_t value_##name(uint64_t good, unsigned int value) \
	{                                                               \
		void *const all[number] = { __VA_ARGS__ };              \
                                                                        \
		(void)good;                                             \
		return (uintptr_t)all[value];                           \
	}                                                               \
	const struct fuzz_kind fuzz_##name = { number, value_##name }

OBJECTS(context, 2, fuzz_a.context, fuzz_b.context);
OBJECTS(device, 2, fuzz_kit.lone.list[0], fuzz_kit.lone.list[1]);
OBJECTS(pd, 2, fuzz_kit.busy.pd, fuzz_b.pd);
OBJECTS(mr, 2, fuzz_kit.busy.mr, fuzz_kit.lone.mr);
OBJECTS(channel, 2, fuzz_kit.busy.channel, fuzz_kit.lone.channel);
OBJECTS(channel_or_null, 2, fuzz_kit.busy.channel, NULL);
OBJECTS(cq, 3, fuzz_kit.busy.cq, fuzz_kit.lone.cq, fuzz_kit.busy.cq_ex);
OBJECTS(srq, 2, fuzz_kit.busy.srq, fuzz_kit.lone.srq);
OBJECTS(qp, 4, fuzz_kit.busy.qp, fuzz_kit.busy.srqp, fuzz_kit.busy.ud, fuzz_kit.lone.qp);
OBJECTS(ud, 2, fuzz_kit.busy.ud, fuzz_kit.busy.qp);
OBJECTS(lone_context, 1, fuzz_kit.lone.context);
OBJECTS(lone_list, 1, fuzz_kit.lone.list);
OBJECTS(lone_pd, 3, fuzz_kit.lone.pd, fuzz_kit.busy.pd, fuzz_b.pd);
OBJECTS(lone_mr, 1, fuzz_kit.lone.mr);
OBJECTS(lone_channel, 2, fuzz_kit.lone.channel, fuzz_kit.busy.channel);
OBJECTS(lone_cq, 3, fuzz_kit.lone.cq, fuzz_kit.busy.cq, fuzz_b.cq);
OBJECTS(lone_srq, 2, fuzz_kit.lone.srq, fuzz_kit.busy.srq);
OBJECTS(lone_qp, 1, fuzz_kit.lone.qp);
OBJECTS(lone_ah, 1, fuzz_kit.lone.ah);
OBJECTS(lone_mw, 1, fuzz_kit.lone.mw);

/* One of these, at random. */
static void *any_of(void *const *all, size_t n)
{
	return all[fuzz_next() % n];
}
#define ANY_OF(...)                            \
	any_of((void *const[]){ __VA_ARGS__ }, \
	       sizeof((void *const[]){ __VA_ARGS__ }) / sizeof(void *))

/* ---- structures ---- */

/* As fuzz_bytes has it: value 0 is for the caller, 1 zeros, 2 ones, 3 random. */
static void *fill_struct(size_t size, unsigned int value)
{
	void *room = fuzz_room(size);

	if (value == 2)
		memset(room, 0xff, size);
	if (value == 3)
		fuzz_fill(room, size);
	return room;
}

/* A small number, or an edge. */
static uint32_t any_number(void)
{
	static const uint32_t edges[] = { 0, 1, 2, 16, 100000, 0x7fffffff, UINT32_MAX };

	return edges[fuzz_next() % COUNT(edges)];
}

/* The objects that a queue pair is to have. The program's pointers in the rest are never used. */
static void spoil_init(struct ibv_qp_init_attr *init, unsigned int value)
{
	static const int types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, 0, 9, -1 };

	if (value != 3) {
		init->send_cq = init->recv_cq = NULL;
		init->srq = NULL;
		return;
	}
	init->send_cq = ANY_OF(NULL, fuzz_kit.busy.cq, fuzz_kit.lone.cq, fuzz_b.cq);
	init->recv_cq = ANY_OF(NULL, fuzz_kit.busy.cq, fuzz_kit.lone.cq, fuzz_b.cq);
	init->srq = ANY_OF(NULL, NULL, fuzz_kit.busy.srq, fuzz_kit.lone.srq);
	init->cap = (struct ibv_qp_cap){ any_number(), any_number(), any_number(), any_number(),
					 any_number() };
	init->qp_type = (enum ibv_qp_type)types[fuzz_next() % COUNT(types)];
}

static const struct ibv_qp_cap small = { 4, 4, 1, 1, 16 };

static uint64_t make_qp_init(uint64_t good, unsigned int value)
{
	struct ibv_qp_init_attr *init = fill_struct(sizeof(*init), value);

	(void)good;
	if (value)
		spoil_init(init, value);
	else
		*init = (struct ibv_qp_init_attr){ .send_cq = fuzz_kit.busy.cq,
						   .recv_cq = fuzz_kit.busy.cq,
						   .cap = small,
						   .qp_type = IBV_QPT_RC };
	return (uintptr_t)init;
}
const struct fuzz_kind fuzz_qp_init = { 4, make_qp_init };

static uint64_t make_qp_init_ex(uint64_t good, unsigned int value)
{
	struct ibv_qp_init_attr_ex *init = fill_struct(sizeof(*init), value);

	(void)good;
	if (value)
		spoil_init((struct ibv_qp_init_attr *)init, value);
	else
		*init = (struct ibv_qp_init_attr_ex){ .send_cq = fuzz_kit.busy.cq,
						      .recv_cq = fuzz_kit.busy.cq,
						      .cap = small,
						      .qp_type = IBV_QPT_RC,
						      .comp_mask = IBV_QP_INIT_ATTR_PD };
	init->pd = value == 3 && fuzz_next() % 2 ? fuzz_b.pd : fuzz_kit.busy.pd;
	if (value == 3 && fuzz_next() % 4)
		init->comp_mask &= 0x3f;
	return (uintptr_t)init;
}
const struct fuzz_kind fuzz_qp_init_ex = { 4, make_qp_init_ex };

static uint64_t make_cq_init_ex(uint64_t good, unsigned int value)
{
	struct ibv_cq_init_attr_ex *init = fill_struct(sizeof(*init), value);

	(void)good;
	if (!value)
		init->cqe = 4;
	init->channel = value == 3 ? ANY_OF(NULL, fuzz_kit.lone.channel) : NULL;
	if (value == 3) {
		init->cqe = any_number();
		init->comp_mask &= fuzz_next() % 4 ? 1 : 0xff;
		init->wc_flags &= fuzz_next() % 4 ? 0x7ff : UINT64_MAX;
	}
	return (uintptr_t)init;
}
const struct fuzz_kind fuzz_cq_init_ex = { 4, make_cq_init_ex };

/* Proper: INIT to RTR and so on is verbs_states' matter; here what is wrong matters. */
static uint64_t make_qp_attr(uint64_t good, unsigned int value)
{
	struct ibv_qp_attr *attr = fill_struct(sizeof(*attr), value);
	int mask;

	if (!value)
		*attr = fuzz_kit_attr(fuzz_kit.busy.qp, (enum ibv_qp_state)good, &mask);
	if (value == 3)
		attr->qp_state = (enum ibv_qp_state)(fuzz_next() % 9);
	return (uintptr_t)attr;
}
const struct fuzz_kind fuzz_qp_attr = { 4, make_qp_attr };

static uint64_t make_srq_init(uint64_t good, unsigned int value)
{
	struct ibv_srq_init_attr *init = fill_struct(sizeof(*init), value);

	(void)good;
	if (!value)
		init->attr = (struct ibv_srq_attr){ .max_wr = 4, .max_sge = 1 };
	if (value == 3)
		init->attr = (struct ibv_srq_attr){ any_number(), any_number(), any_number() };
	return (uintptr_t)init;
}
const struct fuzz_kind fuzz_srq_init = { 4, make_srq_init };

static uint64_t make_srq_init_ex(uint64_t good, unsigned int value)
{
	struct ibv_srq_init_attr_ex *init = fill_struct(sizeof(*init), value);

	(void)good;
	init->pd = fuzz_kit.busy.pd;
	init->cq = value == 3 ? ANY_OF(NULL, fuzz_kit.busy.cq) : NULL;
	init->xrcd = NULL;
	if (!value) {
		init->attr = (struct ibv_srq_attr){ .max_wr = 4, .max_sge = 1 };
		init->comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ;
	}
	if (value == 3) {
		init->attr = (struct ibv_srq_attr){ any_number(), any_number(), any_number() };
		init->comp_mask &= fuzz_next() % 4 ? 0x1f : UINT32_MAX;
		init->srq_type = (enum ibv_srq_type)(fuzz_next() % 4);
	}
	return (uintptr_t)init;
}
const struct fuzz_kind fuzz_srq_init_ex = { 4, make_srq_init_ex };

static uint64_t make_ah_attr(uint64_t good, unsigned int value)
{
	struct ibv_ah_attr *attr = fill_struct(sizeof(*attr), value);

	(void)good;
	if (value == 0 || value == 4)
		fuzz_way(&fuzz_b, attr);
	if (value == 4)
		fuzz_fill(&attr->grh, sizeof(attr->grh));
	return (uintptr_t)attr;
}
const struct fuzz_kind fuzz_ah_attr = { 5, make_ah_attr };

/* Proper: a group's. */
static uint64_t make_gid(uint64_t good, unsigned int value)
{
	union ibv_gid *gid = fill_struct(sizeof(*gid), value);

	(void)good;
	if (!value)
		*gid = (union ibv_gid){ .raw = { 0xff, 0x12 } };
	return (uintptr_t)gid;
}
const struct fuzz_kind fuzz_gid = { 4, make_gid };

/* Proper: with a GRH. */
static uint64_t make_wc(uint64_t good, unsigned int value)
{
	struct ibv_wc *wc = fill_struct(sizeof(*wc), value);

	(void)good;
	if (value == 0)
		wc->wc_flags = IBV_WC_GRH;
	return (uintptr_t)wc;
}
const struct fuzz_kind fuzz_wc = { 4, make_wc };

/* Proper: to this device. */
static uint64_t make_grh(uint64_t good, unsigned int value)
{
	struct ibv_grh *grh = fill_struct(sizeof(*grh), value);

	(void)good;
	if (value == 0) {
		ck_assert_int_eq(ibv_query_gid(fuzz_a.context, 1, 0, &grh->dgid), 0);
		grh->version_tclass_flow = htobe32(6u << 28);
		grh->next_hdr = 0x1b;
	}
	return (uintptr_t)grh;
}
const struct fuzz_kind fuzz_grh = { 4, make_grh };

/* Of a device or a port, which has no element, or of a type that there is not. */
static uint64_t make_event(uint64_t good, unsigned int value)
{
	struct ibv_async_event *event = fill_struct(sizeof(*event), value);

	event->event_type = (enum ibv_event_type)good;
	if (value == 3)
		event->event_type = (enum ibv_event_type)(1000 + fuzz_next() % 1000);
	return (uintptr_t)event;
}
const struct fuzz_kind fuzz_event = { 4, make_event };

/* ---- requests ---- */

static struct ibv_sge *make_sge(unsigned int value)
{
	struct ibv_sge *sge = fill_struct(2 * sizeof(*sge), value);

	if (value == 0 || fuzz_next() % 2)
		*sge = (struct ibv_sge){ (uintptr_t)fuzz_kit.memory, 8, fuzz_kit.busy.mr->lkey };
	sge[0].length &= 0xffff; /* a link takes its time for more */
	sge[1].length &= 0xffff;
	return sge;
}

/* Of type UD, an address handle; of a bind, a window and a region. */
static void spoil_send(struct ibv_send_wr *wr)
{
	wr->wr.ud.ah = ANY_OF(NULL, fuzz_kit.lone.ah);
	wr->opcode = (enum ibv_wr_opcode)(fuzz_next() % 14);
	wr->num_sge = (int)(fuzz_next() % 6) - 1;
	if (fuzz_next() % 2)
		wr->send_flags &= 0x1f;
	/* Inline payload is read by the post itself. */
	if (wr->sg_list[0].addr != (uintptr_t)fuzz_kit.memory || wr->num_sge > 1)
		wr->send_flags &= ~(unsigned int)IBV_SEND_INLINE;
	if (wr->opcode != IBV_WR_BIND_MW)
		return;
	wr->bind_mw.mw = ANY_OF(fuzz_kit.lone.mw, fuzz_kit.busy.mw);
	wr->bind_mw.bind_info.mr = ANY_OF(NULL, fuzz_kit.busy.mr, fuzz_b.mr);
}

static uint64_t make_send_wr(uint64_t good, unsigned int value)
{
	struct ibv_send_wr *wr = fill_struct(sizeof(*wr), value);

	(void)good;
	wr->next = NULL;
	wr->sg_list = make_sge(value);
	if (!value)
		*wr = (struct ibv_send_wr){ .sg_list = wr->sg_list,
					    .num_sge = 1,
					    .opcode = IBV_WR_SEND };
	else if (value == 3)
		spoil_send(wr);
	else
		wr->num_sge = value == 1 ? 0 : -1;
	return (uintptr_t)wr;
}
const struct fuzz_kind fuzz_send_wr = { 4, make_send_wr };

static uint64_t make_recv_wr(uint64_t good, unsigned int value)
{
	struct ibv_recv_wr *wr = fill_struct(sizeof(*wr), value);

	(void)good;
	wr->next = NULL;
	wr->sg_list = make_sge(value);
	wr->num_sge = value == 0 ? 1 : value == 3 ? (int)(fuzz_next() % 4) - 1 : wr->num_sge;
	return (uintptr_t)wr;
}
const struct fuzz_kind fuzz_recv_wr = { 4, make_recv_wr };

static uint64_t make_bind(uint64_t good, unsigned int value)
{
	struct ibv_mw_bind *bind = fill_struct(sizeof(*bind), value);

	(void)good;
	bind->bind_info.mr = value == 3 ? ANY_OF(NULL, fuzz_kit.busy.mr, fuzz_b.mr) : NULL;
	if (value == 0)
		bind->bind_info = (struct ibv_mw_bind_info){ fuzz_kit.busy.mr,
							     (uintptr_t)fuzz_kit.memory, 64,
							     IBV_ACCESS_REMOTE_READ };
	return (uintptr_t)bind;
}
const struct fuzz_kind fuzz_bind = { 4, make_bind };
