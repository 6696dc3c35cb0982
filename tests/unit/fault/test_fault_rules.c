/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fault layer by itself (host/nic_fault.h), on a backend that does nothing. Which rules it
 * takes and how it numbers them: what <dat/sim.h> or DATSIM_FAULTS would refuse before does not
 * come to it there. And it reads nothing of an object that the backend has destroyed.
 */
#include <errno.h>

#include "host/nic.h"
#include "tests/support/support.h"

#define A_CALL   ((uint32_t)NIC_ENTRY_PD_ALLOC)
#define A_WC     ((uint32_t)NIC_EVENT_WC_ALL)
#define AN_EVENT ((uint32_t)NIC_EVENT_ESTABLISHED)
#define FLUSHED  ((uint32_t)NIC_WC_FLUSHED)
#define TIME_MAX (UINT64_C(1) << 50)

static struct nic control;
static struct nic_faults *faults;
static const struct nic_ops below = { .size = sizeof(below) };
static const struct nic_fault_host host;

static void setup_layer(void)
{
	faults = nic_fault_create(&below, &control, &host, 1);
	ck_assert_ptr_nonnull(faults);
}

static int add(struct nic_fault_rule rule)
{
	uint32_t id;

	return nic_fault_add(faults, &rule, &id);
}

static const struct {
	struct nic_fault_rule rule;
	int answer;
} rules[] = {
	{ { .spoil = NIC_SPOIL_PASS, .entries = A_CALL }, 0 },
	{ { .spoil = NIC_SPOIL_PASS, .events = AN_EVENT }, 0 },
	{ { .spoil = NIC_SPOIL_PASS }, -EINVAL },
	{ { .spoil = NIC_SPOIL_PASS, .entries = A_CALL, .events = AN_EVENT }, -EINVAL },
	{ { .spoil = NIC_SPOIL_FAIL, .entries = A_CALL, .error = -ENOMEM }, 0 },
	{ { .spoil = NIC_SPOIL_FAIL, .entries = A_CALL }, -EINVAL },
	{ { .spoil = NIC_SPOIL_FAIL, .entries = A_CALL, .error = 1 }, -EINVAL },
	{ { .spoil = NIC_SPOIL_FAIL, .error = -ENOMEM }, -EINVAL },
	{ { .spoil = NIC_SPOIL_FAIL, .events = AN_EVENT, .error = -ENOMEM }, -EINVAL },
	{ { .spoil = NIC_SPOIL_FAIL, .entries = A_CALL, .events = AN_EVENT, .error = -ENOMEM },
	  -EINVAL },
	{ { .spoil = NIC_SPOIL_FAIL, .entries = (uint32_t)NIC_ENTRY_ALL + 1, .error = -ENOMEM },
	  -EINVAL },
	{ { .spoil = NIC_SPOIL_STATUS, .events = A_WC, .status = FLUSHED }, 0 },
	{ { .spoil = NIC_SPOIL_STATUS, .events = A_WC, .status = NIC_WC_COUNT - 1 }, 0 },
	{ { .spoil = NIC_SPOIL_STATUS, .events = A_WC, .status = NIC_WC_COUNT }, -EINVAL },
	{ { .spoil = NIC_SPOIL_STATUS, .events = A_WC, .status = NIC_WC_SUCCESS }, -EINVAL },
	{ { .spoil = NIC_SPOIL_STATUS, .status = FLUSHED }, -EINVAL },
	{ { .spoil = NIC_SPOIL_STATUS, .events = AN_EVENT, .status = FLUSHED }, -EINVAL },
	{ { .spoil = NIC_SPOIL_STATUS, .events = A_WC, .entries = A_CALL, .status = FLUSHED },
	  -EINVAL },
	{ { .spoil = NIC_SPOIL_OVERFLOW, .events = A_WC }, 0 },
	{ { .spoil = NIC_SPOIL_OVERFLOW }, -EINVAL },
	{ { .spoil = NIC_SPOIL_OVERFLOW, .events = AN_EVENT }, -EINVAL },
	{ { .spoil = NIC_SPOIL_OVERFLOW, .events = A_WC, .entries = A_CALL }, -EINVAL },
	{ { .spoil = NIC_SPOIL_LOSE, .events = AN_EVENT }, 0 },
	{ { .spoil = NIC_SPOIL_LOSE }, -EINVAL },
	{ { .spoil = NIC_SPOIL_LOSE, .events = A_WC }, -EINVAL },
	{ { .spoil = NIC_SPOIL_LOSE, .events = AN_EVENT, .entries = A_CALL }, -EINVAL },
	{ { .spoil = NIC_SPOIL_DELAY, .events = AN_EVENT | A_WC, .delay_ns = TIME_MAX }, 0 },
	{ { .spoil = NIC_SPOIL_DELAY, .events = AN_EVENT, .delay_ns = TIME_MAX + 1 }, -EINVAL },
	{ { .spoil = NIC_SPOIL_DELAY }, -EINVAL },
	{ { .spoil = NIC_SPOIL_DELAY, .events = AN_EVENT, .entries = A_CALL }, -EINVAL },
	{ { .spoil = NIC_SPOIL_DELAY, .events = 1u << 31 }, -EINVAL },
	{ { .spoil = NIC_SPOIL_FATAL, .adapter = "emu0", .since_ns = TIME_MAX }, 0 },
	{ { .spoil = NIC_SPOIL_FATAL, .adapter = "emu0", .since_ns = TIME_MAX + 1 }, -EINVAL },
	{ { .spoil = NIC_SPOIL_FATAL }, -EINVAL },
	{ { .spoil = NIC_SPOIL_FATAL, .adapter = "emu0", .events = AN_EVENT }, -EINVAL },
	{ { .spoil = NIC_SPOIL_FATAL, .adapter = "emu0", .entries = A_CALL }, -EINVAL },
	{ { .spoil = NIC_SPOIL_KILL, .adapter = "emu0", .since_ns = TIME_MAX }, 0 },
	{ { .spoil = NIC_SPOIL_KILL, .adapter = "emu0", .since_ns = TIME_MAX + 1 }, -EINVAL },
	{ { .spoil = NIC_SPOIL_KILL }, -EINVAL },
	{ { .spoil = NIC_SPOIL_KILL, .adapter = "emu0", .events = AN_EVENT }, -EINVAL },
	{ { .spoil = NIC_SPOIL_PASS, .entries = A_CALL, .probability = NIC_PROBABILITY_1 }, 0 },
	{ { .spoil = NIC_SPOIL_PASS, .entries = A_CALL, .probability = NIC_PROBABILITY_1 + 1 },
	  -EINVAL },
	{ { .spoil = NIC_SPOIL_PASS, .entries = A_CALL, .delay_ns = TIME_MAX + 1 }, -EINVAL },
	{ { .spoil = NIC_SPOIL_COUNT, .events = AN_EVENT }, -EINVAL },
};

START_TEST(a_rule_has_the_fields_of_its_verdict_and_no_others)
{
	uint64_t times;

	ck_assert_int_eq(add(rules[_i].rule), rules[_i].answer);
	ck_assert_int_eq(nic_fault_fired(faults, NIC_FAULT_ID0 + 1, &times),
			 rules[_i].answer ? -ENOENT : 0);
	nic_fault_destroy(faults);
}
END_TEST

START_TEST(the_name_of_an_adapter_has_an_end)
{
	struct nic_fault_rule rule = { .spoil = NIC_SPOIL_PASS, .entries = A_CALL };

	memset(rule.adapter, 'x', sizeof(rule.adapter));
	ck_assert_int_eq(add(rule), -EINVAL);
	rule.adapter[sizeof(rule.adapter) - 1] = '\0';
	ck_assert_int_eq(add(rule), 0);
	nic_fault_destroy(faults);
}
END_TEST

START_TEST(rules_are_numbered_up_to_a_limit)
{
	const struct nic_fault_rule rule = { .spoil = NIC_SPOIL_PASS, .entries = A_CALL };
	uint64_t times = 7;
	uint32_t id = 0;

	for (uint32_t i = 1; i <= NIC_FAULT_RULES; i++) {
		ck_assert_int_eq(nic_fault_add(faults, &rule, &id), 0);
		ck_assert_uint_eq(id, NIC_FAULT_ID0 + i);
	}
	ck_assert_int_eq(nic_fault_add(faults, &rule, &id), -ENOMEM);
	ck_assert_uint_eq(id, NIC_FAULT_ID0 + NIC_FAULT_RULES);
	ck_assert_int_eq(nic_fault_fired(faults, NIC_FAULT_ID0, &times), -ENOENT);
	ck_assert_int_eq(nic_fault_fired(faults, id + 1, &times), -ENOENT);
	ck_assert_uint_eq(times, 7);
	ck_assert_int_eq(nic_fault_fired(faults, id, &times), 0);
	ck_assert_uint_eq(times, 0);
	nic_fault_clear(faults);
	ck_assert_int_eq(nic_fault_fired(faults, NIC_FAULT_ID0 + 1, &times), -ENOENT);
	ck_assert_int_eq(nic_fault_add(faults, &rule, &id), 0);
	ck_assert_uint_eq(id, NIC_FAULT_ID0 + 1);
	nic_fault_destroy(faults);
}
END_TEST

/* ---- objects that the backend destroys ---- */

#define DELAY_NS UINT64_C(1000)

static struct {
	uint64_t now;
	int rejected; /* connection requests */
	void *told;   /* the last upcall's context */
	int upcalls;
} seen;

/* What a backend destroys is gone: nothing of it can be read. */
static void gone(void *object, size_t size)
{
	memset(object, 0xa5, size);
}

static void srq_goes(struct nic_srq *srq)
{
	gone(srq, sizeof(*srq));
}

static void qp_goes(struct nic_qp *qp)
{
	gone(qp, sizeof(*qp));
}

static void cq_goes(struct nic_cq *cq)
{
	gone(cq, sizeof(*cq));
}

static void listener_goes(struct nic_listener *listener)
{
	gone(listener, sizeof(*listener));
}

static void reject(struct nic_conn *conn, bool by_program)
{
	(void)conn;
	(void)by_program;
	seen.rejected++;
}

static uint64_t now_is(struct nic *nic)
{
	(void)nic;
	return seen.now;
}

static enum nic_wait nothing_comes(struct nic *nic, struct nic_cq *cq, uint64_t deadline)
{
	(void)nic;
	(void)cq;
	seen.now = deadline;
	return NIC_WAIT_DEADLINE;
}

static const struct nic_ops backend = { .size = sizeof(backend),
					.now = now_is,
					.wait = nothing_comes,
					.srq_destroy = srq_goes,
					.qp_destroy = qp_goes,
					.cq_destroy = cq_goes,
					.unlisten = listener_goes,
					.reject = reject };

static void tell(void *ctx)
{
	seen.told = ctx;
	seen.upcalls++;
}

static void tell_request(void *ctx, struct nic_conn *conn)
{
	(void)conn;
	tell(ctx);
}

static void wake_nobody(void *ctx)
{
	(void)ctx;
}

static const char *its_name(const struct nic *nic)
{
	(void)nic;
	return "emu0";
}

static uint32_t qp_name(const void *ctx, const char **noun)
{
	(void)ctx;
	*noun = "ep";
	return 1;
}

static const struct nic_upcalls upcalls = { .wake = wake_nobody,
					    .cq_notify = tell,
					    .srq_limit = tell,
					    .qp_soft_limit = tell,
					    .conn_request = tell_request };
static const struct nic_fault_host told = { .adapter_name = its_name,
					    .qp_name = qp_name,
					    .up = &upcalls };

static void setup_objects(void)
{
	memset(&seen, 0, sizeof(seen));
	faults = nic_fault_create(&backend, &control, &told, 1);
	ck_assert_ptr_nonnull(faults);
}

static const uint32_t of_objects[] = { NIC_EVENT_SRQ_LIMIT, NIC_EVENT_SOFT_LIMIT, NIC_EVENT_NOTIFY,
				       NIC_EVENT_CONN_REQUEST };

/* The object with the context `going`, of the kind that has this event, is destroyed. */
static void destroy(uint32_t event, struct nic *nic, void *going)
{
	struct nic_listener listener = { .nic = nic, .ctx = going };
	struct nic_srq srq = { .nic = nic, .ctx = going };
	struct nic_qp qp = { .nic = nic, .ctx = going };
	struct nic_cq cq = { .nic = nic, .ctx = going };

	switch (event) {
	case NIC_EVENT_SRQ_LIMIT:
		nic->ops->srq_destroy(&srq);
		break;
	case NIC_EVENT_SOFT_LIMIT:
		nic->ops->qp_destroy(&qp);
		break;
	case NIC_EVENT_NOTIFY:
		nic->ops->cq_destroy(&cq);
		break;
	default:
		nic->ops->unlisten(&listener);
		break;
	}
}

START_TEST(a_delayed_event_goes_with_its_object_which_the_backend_destroys_last)
{
	struct nic_fault_rule rule = { .spoil = NIC_SPOIL_DELAY,
				       .events = of_objects[_i],
				       .delay_ns = DELAY_NS };
	struct nic nic = { .ops = nic_fault_ops(faults), .caps = NIC_CAP_SIM };
	struct nic_conn conn = { .nic = &nic };
	struct nic_fault_upcall upcall = { .event = of_objects[_i], .nic = &nic, .conn = &conn };
	int going, staying;

	ck_assert_int_eq(add(rule), 0);
	upcall.ctx = &going;
	ck_assert(nic_fault_upcall(faults, &upcall));
	upcall.ctx = &staying;
	ck_assert(nic_fault_upcall(faults, &upcall));
	destroy(of_objects[_i], &nic, &going);
	ck_assert_int_eq(seen.rejected, of_objects[_i] == NIC_EVENT_CONN_REQUEST);
	ck_assert_int_eq(nic.ops->wait(&nic, NULL, 2 * DELAY_NS), NIC_WAIT_RAN);
	ck_assert_int_eq(seen.upcalls, 1);
	ck_assert_ptr_eq(seen.told, &staying);
	nic_fault_destroy(faults);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_delayed_event_goes_with_its_object_which_the_backend_destroys_last,
		 (int)COUNT(of_objects), setup_objects);
	unit_add(suite, a_rule_has_the_fields_of_its_verdict_and_no_others, (int)COUNT(rules),
		 setup_layer);
	unit_add(suite, the_name_of_an_adapter_has_an_end, 1, setup_layer);
	unit_add(suite, rules_are_numbered_up_to_a_limit, 1, setup_layer);
}

UNIT_SUITE("fault_rules")
