/* SPDX-License-Identifier: BSD-3-Clause */
/* Two connected ends: ends.h. */
#include "tests/litmus/ends.h"

struct end ends[2];
struct litmus_worlds ends_worlds;

/* ---- what the NIC calls ---- */

static void accept_request(void *listener_ctx, struct nic_conn *conn)
{
	const struct nic_conn_param none = { .rd_in = 0 };
	struct end *end = listener_ctx;

	ck_assert_int_eq(end->nic->ops->accept(conn, end->qp, &none), 0);
}

static void note_established(void *qp_ctx, const struct nic_conn_param *peer)
{
	struct end *end = qp_ctx;

	(void)peer;
	end->established = true;
}

static void ignore(void *ctx)
{
	(void)ctx;
}

static void ignore_qp_event(void *qp_ctx, enum nic_qp_event what)
{
	(void)qp_ctx;
	(void)what;
}

static void ignore_end(void *qp_ctx, enum nic_conn_end why)
{
	(void)qp_ctx;
	(void)why;
}

static uint64_t monotonic_ns(void *ctx)
{
	struct timespec ts;

	(void)ctx;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ul + (uint64_t)ts.tv_nsec;
}

static const struct nic_upcalls upcalls = {
	.cq_notify = ignore,
	.srq_limit = ignore,
	.qp_soft_limit = ignore,
	.qp_event = ignore_qp_event,
	.conn_request = accept_request,
	.established = note_established,
	.conn_end = ignore_end,
	.adapter_failed = ignore,
	.monotonic_ns = monotonic_ns,
	.wake = ignore,
};

/* ---- two ends and a connection ---- */

static void make_qp(struct end *end, uint32_t receives)
{
	const struct nic_qp_init init = { .pd = end->pd,
					  .send_cq = end->send_cq,
					  .recv_cq = end->recv_cq,
					  .srq = end->srq,
					  .cap = { DEPTH, receives, SEGMENTS, 1, 1, 0, 0 } };

	ck_assert_int_eq(end->nic->ops->qp_create(end->nic, &init, end, &end->qp), 0);
}

static void open_end(struct end *end, uint32_t receives, uint32_t completions, bool srq)
{
	ck_assert_int_eq(emu_backend.open(end->world, "emu0", &upcalls, end, &end->nic), 0);
	ck_assert_int_eq(end->nic->ops->pd_alloc(end->nic, &end->pd), 0);
	ck_assert_int_eq(end->nic->ops->cq_create(end->nic, DEPTH, end, &end->send_cq), 0);
	ck_assert_int_eq(end->nic->ops->cq_create(end->nic, completions, end, &end->recv_cq), 0);
	ck_assert_int_eq(end->nic->ops->mr_reg(end->pd, (uintptr_t)end->memory, sizeof(end->memory),
					       NIC_ACCESS_LOCAL_READ | NIC_ACCESS_LOCAL_WRITE,
					       &end->mr),
			 0);
	if (srq)
		ck_assert_int_eq(end->nic->ops->srq_create(end->pd, receives, 1, 0, end, &end->srq),
				 0);
	make_qp(end, receives);
}

static void connect_ends(void)
{
	const struct nic_conn_param none = { .rd_in = 0 };
	struct nic_listener *listener;
	struct nic_attr attr;
	uint64_t port = 1;

	emu_backend.enter(ends[1].world, false);
	ends[1].nic->ops->query(ends[1].nic, &attr);
	ck_assert_int_eq(ends[1].nic->ops->listen(ends[1].nic, &port, &ends[1], &listener), 0);
	emu_backend.leave(ends[1].world);
	emu_backend.enter(ends[0].world, false);
	ck_assert_int_eq(ends[0].nic->ops->connect(ends[0].qp, (struct sockaddr *)&attr.addr, port,
						   NIC_TIME_NEVER, &none),
			 0);
	emu_backend.leave(ends[0].world);
	for (int i = 0; !ends[0].established || !ends[1].established; i ^= 1) {
		emu_backend.enter(ends[i].world, false);
		emu_backend.settle(ends[i].world);
		emu_backend.leave(ends[i].world);
	}
	emu_backend.enter(ends[1].world, false);
	ends[1].nic->ops->unlisten(listener);
	emu_backend.leave(ends[1].world);
}

static bool with_srq;

static void setup(uint32_t receives, uint32_t completions)
{
	litmus_join_worlds(&ends_worlds);
	memset(ends, 0, sizeof(ends));
	for (int i = 0; i < 2; i++) {
		ends[i].world = (struct nic_world *)ends_worlds.world[i];
		emu_backend.enter(ends[i].world, false);
		open_end(&ends[i], receives, completions, with_srq && i == 1);
		emu_backend.leave(ends[i].world);
	}
	connect_ends();
}

void ends_setup(void)
{
	setup(DEPTH, DEPTH);
}

void ends_setup_srq(void)
{
	with_srq = true;
	setup(DEPTH, DEPTH);
	with_srq = false;
}

void ends_setup_long_queue(void)
{
	setup(DEPTH, AHEAD);
}

void ends_setup_many_receives(void)
{
	setup(AHEAD, DEPTH);
}

void ends_run(struct end *end)
{
	emu_backend.enter(end->world, false);
	emu_backend.settle(end->world);
	emu_backend.leave(end->world);
}

void ends_run_all(void)
{
	while (ends_worlds.world[0]->fab->events > 0)
		for (int i = 0; i < 2; i++)
			ends_run(&ends[i]);
}

static void disconnect_ends(void)
{
	for (int i = 0; i < 2; i++) {
		emu_backend.enter(ends[i].world, false);
		ends[i].nic->ops->qp_reset(ends[i].qp);
		ends[i].established = false;
		emu_backend.leave(ends[i].world);
		ends_run(&ends[1 - i]);
	}
}

void ends_connect_again(void)
{
	disconnect_ends();
	connect_ends();
}

void ends_change_peer(void)
{
	disconnect_ends();
	emu_backend.enter(ends[1].world, false);
	make_qp(&ends[1], DEPTH);
	emu_backend.leave(ends[1].world);
	connect_ends();
}

void ends_destroy_peer(struct nic_qp *old)
{
	emu_backend.enter(ends[1].world, false);
	ends[1].nic->ops->qp_destroy(old);
	emu_backend.leave(ends[1].world);
}

static void close_end(struct end *end)
{
	const struct nic_ops *ops = end->nic->ops;

	emu_backend.enter(end->world, false);
	ops->qp_reset(end->qp);
	ops->qp_destroy(end->qp);
	if (end->srq)
		ops->srq_destroy(end->srq);
	ops->cq_destroy(end->send_cq);
	ops->cq_destroy(end->recv_cq);
	ops->mr_dereg(end->mr);
	ops->pd_free(end->pd);
	ops->close(end->nic);
	emu_backend.leave(end->world);
}

void ends_teardown(void)
{
	close_end(&ends[0]);
	close_end(&ends[1]);
	litmus_leave_worlds(&ends_worlds);
}

/* ---- the trace ---- */

void ends_trace_on(void)
{
	emu_backend.enter(ends[0].world, false);
	ends[0].nic->ops->sim_trace(ends[0].nic, true);
	emu_backend.leave(ends[0].world);
}

static bool counts_requests(const char *field)
{
	return strncmp(field - 7, "message", 7) == 0 || strncmp(field - 3, "psn", 3) == 0 ||
	       strncmp(field - 5, "wr_id", 5) == 0;
}

void ends_copy_lines(const char *text, int lines, char *out, unsigned long n)
{
	char *end;

	for (; lines > 0 && (text = strchr(text, ' ')); lines--) {
		for (; *text != '\n'; text++) {
			*out++ = *text;
			if (*text != '=' || !counts_requests(text))
				continue;
			out += sprintf(out, "%lu", strtoul(text + 1, &end, 10) - n);
			text = end - 1;
		}
		*out++ = *text++;
	}
	*out = '\0';
}
