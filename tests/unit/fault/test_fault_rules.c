/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules of the fault layer by themselves (host/nic_fault.h): which ones it takes, and how it
 * numbers them. What <dat/sim.h> or DATSIM_FAULTS would refuse before does not come to it there.
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

static void fill(Suite *suite)
{
	unit_add(suite, a_rule_has_the_fields_of_its_verdict_and_no_others, (int)COUNT(rules),
		 setup_layer);
	unit_add(suite, the_name_of_an_adapter_has_an_end, 1, setup_layer);
	unit_add(suite, rules_are_numbered_up_to_a_limit, 1, setup_layer);
}

UNIT_SUITE("fault_rules")
