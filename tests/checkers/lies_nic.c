/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of operations over the emulator's, which the linker installs as the backend. */
#include <string.h>

#include "host/nic.h"
#include "tests/checkers/lies.h"

#define TARGETS 64

extern const struct nic_backend __real_emu_backend;
extern struct nic_backend __wrap_emu_backend;

static struct {
	enum lie lie;
	struct nic_wc kept; /* a completion that was held back, or was returned already */
	bool keeps, done;
	unsigned int looks;
	struct nic_sge targets[TARGETS]; /* of all but Sends, by the end of wr_id */
	struct nic_sge sent;             /* what the last Send takes */
	struct nic_sge regions[TARGETS];
	unsigned int region_count;
} now;

static const struct nic_ops *real;

void lie_begin(enum lie lie)
{
	memset(&now, 0, sizeof(now));
	now.lie = lie;
	lie_forget();
}

enum lie lie_now(void)
{
	return now.lie;
}

/* ---- completions ---- */

static void spoil_bytes(const struct nic_wc *wc)
{
	const struct nic_sge *sge = &now.targets[wc->wr_id % TARGETS];
	uint8_t spoilt = now.lie == LIE_BYTES   ? NIC_OP_RECV
			 : now.lie == LIE_WRITE ? NIC_OP_WRITE
						: NIC_OP_READ;

	if ((now.lie == LIE_BYTES || now.lie == LIE_READ || now.lie == LIE_WRITE) &&
	    wc->opcode == spoilt && sge->length > 5)
		((unsigned char *)(uintptr_t)sge->addr)[5] ^= 1;
}

/* Applies the lie to a completion; false: the caller does not get it. */
static bool pass(struct nic_wc *wc)
{
	struct nic_wc first;

	spoil_bytes(wc);
	if (now.lie == LIE_TAKEN && wc->opcode == NIC_OP_RECV && !now.done) {
		now.done = true;
		return false;
	}
	if (wc->opcode != NIC_OP_SEND || now.done)
		return true;
	switch (now.lie) {
	case LIE_COOKIE:
		wc->wr_id += 1000;
		break;
	case LIE_TWICE:
		now.kept = *wc;
		now.keeps = true;
		break;
	case LIE_LOST:
		now.done = true;
		return false;
	case LIE_SWAPPED:
		first = now.kept;
		now.kept = *wc;
		if (!now.keeps) {
			now.keeps = true;
			return false;
		}
		/* The duplicate, and the original in the next poll */
		now.kept = first;
		break;
	default:
		return true;
	}
	now.done = true;
	return true;
}

static bool give_kept(struct nic_wc *wc)
{
	if (!now.keeps || !now.done)
		return false;
	*wc = now.kept;
	now.keeps = false;
	return true;
}

static int cq_poll(struct nic_cq *cq, struct nic_wc *wc, int n)
{
	int got, i, kept = 0;

	if (n && give_kept(wc))
		return 1;
	got = real->cq_poll(cq, wc, n);
	for (i = 0; i < got; i++) {
		if (pass(&wc[i]))
			wc[kept++] = wc[i];
	}
	return kept;
}

static bool cq_spin(struct nic_cq *cq, struct nic_wc *wc)
{
	if (give_kept(wc))
		return true;
	while (real->cq_spin(cq, wc)) {
		if (pass(wc))
			return true;
	}
	return false;
}

/* ---- memory ---- */

static int mr_reg(struct nic_pd *pd, uint64_t addr, uint64_t length, uint32_t access,
		  struct nic_mr **mr)
{
	if (now.lie == LIE_OUTSIDE)
		*(unsigned char *)(uintptr_t)(addr + length) ^= 1;
	if (now.region_count < TARGETS)
		now.regions[now.region_count++] =
			(struct nic_sge){ .addr = addr, .length = (uint32_t)length };
	return real->mr_reg(pd, addr, length, access, mr);
}

static void see_receive(const struct nic_recv_wr *wr)
{
	if (!wr->num_sge)
		return;
	now.targets[wr->wr_id % TARGETS] = wr->sge[0];
	if (now.lie == LIE_BESIDE)
		*(unsigned char *)(uintptr_t)(wr->sge[0].addr + wr->sge[0].length) ^= 1;
}

static int srq_post(struct nic_srq *srq, const struct nic_recv_wr *wr)
{
	see_receive(wr);
	return real->srq_post(srq, wr);
}

static int post_recv(struct nic_qp *qp, const struct nic_recv_wr *wr)
{
	see_receive(wr);
	return real->post_recv(qp, wr);
}

static void spoil_send(const struct nic_sge *sge)
{
	unsigned char *last = (unsigned char *)(uintptr_t)now.sent.addr;
	unsigned char *here = (unsigned char *)(uintptr_t)sge->addr, byte;

	for (uint32_t i = 0; last && i < sge->length; i++) {
		byte = here[i];
		here[i] = last[i];
		if (now.lie == LIE_CROSSED)
			last[i] = byte;
	}
	now.sent = *sge;
}

static void spoil_write(const struct nic_send_wr *wr)
{
	uint64_t at = wr->remote_addr, begin;

	now.targets[wr->wr_id % TARGETS] =
		(struct nic_sge){ .addr = at, .length = wr->sge[0].length };
	if (now.lie == LIE_BEHIND)
		*(unsigned char *)(uintptr_t)(at + wr->sge[0].length) ^= 1;
	for (unsigned int i = 0; now.lie == LIE_FAR && i < now.region_count; i++) {
		begin = now.regions[i].addr;
		if (at >= begin && at - begin < now.regions[i].length)
			*(unsigned char *)(uintptr_t)(begin + now.regions[i].length) ^= 1;
	}
}

static int post_send(struct nic_qp *qp, const struct nic_send_wr *wr)
{
	struct nic_send_wr other = *wr;

	if (wr->opcode == NIC_OP_READ && wr->num_sge)
		now.targets[wr->wr_id % TARGETS] = wr->sge[0];
	if (now.lie == LIE_UNASKED)
		other.flags &= (uint8_t)~NIC_WR_SUPPRESS;
	if ((now.lie == LIE_COPIED || now.lie == LIE_CROSSED) && wr->opcode == NIC_OP_SEND)
		spoil_send(wr->sge);
	if (wr->opcode == NIC_OP_WRITE && wr->num_sge)
		spoil_write(wr);
	if (now.lie == LIE_AWAY && wr->opcode == NIC_OP_WRITE)
		other.remote_addr++;
	return real->post_send(qp, &other);
}

/* ---- numbers ---- */

static uint32_t srq_count(struct nic_srq *srq)
{
	return real->srq_count(srq) + (now.lie == LIE_AVAILABLE);
}

static uint64_t clock_now(struct nic *nic)
{
	uint64_t ns = real->now(nic);

	return now.lie == LIE_CLOCK && ++now.looks % 7 == 0 ? ns / 2 : ns;
}

/* ---- the backend ---- */

static struct nic *control(struct nic_world *world)
{
	static struct nic_ops lies;
	struct nic *nic = __real_emu_backend.control(world);

	if (!real) {
		real = nic->ops;
		memcpy(&lies, real, real->size);
		lies.cq_poll = cq_poll;
		lies.cq_spin = cq_spin;
		lies.spin_one = nic_unsupported.spin_one; /* by cq_spin */
		lies.spin_one_traced = nic_unsupported.spin_one_traced;
		lies.mr_reg = mr_reg;
		lies.srq_post = srq_post;
		lies.post_recv = post_recv;
		lies.post_send = post_send;
		lies.send_one = nic_unsupported.send_one; /* by post_send */
		lies.srq_count = srq_count;
		lies.now = clock_now;
	}
	if (nic->ops == real)
		nic->ops = &lies;
	return nic;
}

static int world_create(const struct nic_config *config, struct nic_world **world)
{
	const enum lie chosen = now.lie;

	lie_begin(lie_of_world(chosen));
	return __real_emu_backend.world_create(config, world);
}

/* All other operations are those of the emulator. */
struct nic_backend __wrap_emu_backend;

__attribute__((constructor)) static void lay_over(void)
{
	memcpy(&__wrap_emu_backend, &__real_emu_backend, sizeof(__wrap_emu_backend));
	__wrap_emu_backend.world_create = world_create;
	__wrap_emu_backend.control = control;
}
