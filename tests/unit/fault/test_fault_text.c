/* SPDX-License-Identifier: BSD-3-Clause */
/* DATSIM_FAULTS: rules as text, for programs that set none themselves (host/fault_text.h). */
#include "tests/support/conf.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <unistd.h>

#include "host/fault_text.h"

static DAT_RETURN create_with(const char *text)
{
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);
	DAT_RETURN ret;

	setenv("DATSIM_FAULTS", text, 1);
	ret = dat_sim_create(&config, &w.sim);
	unsetenv("DATSIM_FAULTS");
	return ret;
}

static void destroy(void)
{
	ck_assert_int_eq(dat_sim_destroy(w.sim), DAT_SUCCESS);
}

/* Creates the fabric that the fixture destroys: a bad text must not have left one behind. */
static void leave_one(void)
{
	ck_assert_int_eq(create_with(""), DAT_SUCCESS);
}

/* Texts that make the creation of a fabric fail, each for one reason */
static const char *const bad[] = {
	"x",
	"=",
	"=drop",
	"verdict",
	"verdict=",
	"verdict=drap",
	"verdict=dropp",
	"verdict=dro",
	"nth=1",
	"verdict=drop; nth=1",
	"verdict=drop nth=-1",
	"verdict=drop nth=",
	"verdict=drop nth=0x1",
	"verdict=drop nth=1.5",
	"verdict=drop nth=18446744073709551616",
	"verdict=drop nth=99999999999999999999999999",
	"verdict=drop line=4294967296",
	"verdict=drop from_ep=4294967296",
	"verdict=drop probability=1000001",
	"verdict=drop verdict=drop",
	"verdict=drop nth=1 nth=1",
	"verdict=drop Nth=1",
	"verdict=drop from=",
	"verdict=drop from=emu9999",
	"verdict=drop from=ib0",
	"verdict=drop from=emu0emu0emu0emu0emu0emu0emu0emu0emu0",
	"verdict=drop part=middle",
	"verdict=drop packets=",
	"verdict=drop packets=SEND|",
	"verdict=drop packets=|SEND",
	"verdict=drop packets=send",
	"verdict=rnr packets=ACK",
	"verdict=nak packets=CM",
	"verdict=nak nak=7",
	"verdict=delay delay_ns=1125899906842625",
	"verdict=drop,nth=1",
	"verdict=drop api=verbs",
	"spoil=fail api=verps call=post",
	"spoil=fail api=verbs call=post",
	"spoil=fail api=verbs call=ibv_post_send error=12",
	"spoil=complete_as api=verbs status=12",
	"verdict=drop\rnth=1",
	"verdict=drop \x80\xff=1",
};

START_TEST(fault_text_with_a_name_of_no_adapter_is_told_what_a_name_is)
{
	static const char *const texts[] = { "verdict=drop from=",
					     "verdict=drop to=a_name_of_one_and_thirty_letters_" };
	static const char *const words[] = { "\"from=\": expected a name of at most 31 ",
					     "\"to=a_name_of_one_and_thirty_letters_\": exp" };
	const char *said;

	said_start();
	ck_assert_int_eq(DAT_GET_TYPE(create_with(texts[_i])), DAT_INVALID_PARAMETER);
	said = said_stop();
	ck_assert_said(said, words[_i]);
	ck_assert_said(said, "expected a name of at most 31 characters");
}
END_TEST

START_TEST(fault_text_that_makes_no_sense_begins_nothing)
{
	const char *said;

	said_start();
	ck_assert_int_eq(DAT_GET_TYPE(create_with(bad[_i])), DAT_INVALID_PARAMETER);
	said = said_stop();
	ck_assert_said(said, "DATSIM_FAULTS: \"");
	ck_assert_said(said, "\": expected ");
	leave_one();
}
END_TEST

/* What the stack held before, below this function's caller */
static void __attribute__((noinline)) soil_stack(void)
{
	volatile char dirt[16384];

	for (size_t i = 0; i < sizeof(dirt); i++)
		dirt[i] = 'Z';
}

START_TEST(fault_text_that_makes_no_sense_is_quoted_and_nothing_else)
{
	static const char *const texts[] = { "verdict", "x=1", "verdict=drap" };
	struct fault_text_rule rule;
	const char *text, *said;
	char quoted[32];

	for (size_t i = 0; i < COUNT(texts); i++) {
		text = texts[i];
		snprintf(quoted, sizeof(quoted), "\"%s\": expected ", texts[i]);
		said_start();
		soil_stack();
		ck_assert_int_lt(fault_text_next(&text, &rule), 0);
		said = said_stop();
		ck_assert_said(said, quoted);
	}
	leave_one();
}
END_TEST

START_TEST(fault_text_without_rules_is_none)
{
	static const char *const empty[] = { "", ";", " ;\t;\n", ";;;;" };
	DAT_UINT64 times;

	for (size_t i = 0; i < COUNT(empty); i++) {
		ck_assert_int_eq(create_with(empty[i]), DAT_SUCCESS);
		ck_assert_int_eq(DAT_GET_TYPE(dat_sim_fault_fired(w.sim, 1, &times)),
				 DAT_INVALID_PARAMETER);
		destroy();
	}
	leave_one();
}
END_TEST

/* The whole table of fields, and the ways to write each */
START_TEST(fault_text_takes_every_field)
{
	DAT_UINT64 times;

	ck_assert_int_eq(
		create_with(
			"line=1 from=emu0 to=emu1 from_ep=1 to_ep=1 packets=SEND|WRITE part=first "
			"since_ns=1 until_ns=2 after=1 nth=1 every=1 probability=1000000 "
			"verdict=delay nak=reserved delay_ns=5 jitter_ns=5 times=1;\n"
			"verdict=rnr;verdict=nak nak=sequence ; verdict=host_dead;"),
		DAT_SUCCESS);
	ck_assert_int_eq(dat_sim_fault_fired(w.sim, 4, &times), DAT_SUCCESS);
	ck_assert_int_eq(DAT_GET_TYPE(dat_sim_fault_fired(w.sim, 5, &times)),
			 DAT_INVALID_PARAMETER);
}
END_TEST

START_TEST(fault_text_rule_acts_and_says_so_in_the_trace)
{
	const char *text;
	DAT_UINT64 times;
	size_t length;

	ck_assert_int_eq(create_with("line=7 from=emu0 packets=SEND nth=2 verdict=drop"),
			 DAT_SUCCESS);
	ck_assert_int_eq(dat_sim_trace(w.sim, DAT_TRUE), DAT_SUCCESS);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	plain_pair();
	post_recvs(&w.b, w.b.ep, 20, 2);
	post_send(&w.a, w.a.ep, 0, SHORT);
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	ck_assert_int_eq(drain(w.b.recv), 2);
	ck_assert_int_eq(dat_sim_fault_fired(w.sim, 1, &times), DAT_SUCCESS);
	ck_assert_int_eq(times, 1);
	ck_assert_int_eq(dat_sim_fault_clear(w.sim), DAT_SUCCESS);
	ck_assert_int_eq(dat_sim_trace_read(w.sim, &text, &length), DAT_SUCCESS);
	ck_assert_ptr_nonnull(strstr(text, " emu0>emu1 drop rule=1 op=SEND_ONLY "));
	ck_assert_ptr_nonnull(strstr(text, " - rule fired=1 line=7 times=1\n"));
}
END_TEST

/* The rules that are in the trace of w.sim when its faults end */
static const char *trace_of_rules(void)
{
	const char *text;
	size_t length;

	must(dat_sim_fault_clear(w.sim));
	must(dat_sim_trace_read(w.sim, &text, &length));
	return text;
}

START_TEST(fault_text_reports_each_rule_in_the_trace)
{
	const char *text;

	must(create_with("line=7 verdict=drop nth=9; line=8 verdict=rnr; "
			 "line=9 spoil=fail call=dat_pz_create"));
	must(dat_sim_trace(w.sim, DAT_TRUE));
	text = trace_of_rules();
	ck_assert_ptr_nonnull(strstr(text, " - rule fired=1 line=7 times=0\n"));
	ck_assert_ptr_nonnull(strstr(text, " - rule fired=2 line=8 times=0\n"));
	ck_assert_ptr_nonnull(strstr(text, " - rule fired=1001 line=9 times=0\n"));
}
END_TEST

/* ---- a fabric of several processes, in lockstep ---- */

static char folder[] = "/tmp/libdat-faults-XXXXXX";

static void share_fabric(void)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	char name[] = "emu0";

	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
	setenv("DATSIM_FABRIC", "faults", 1);
	setenv("DATSIM_LOCKSTEP", "10000", 1);
	setenv("DATSIM_TRACE", "/dev/null", 1);
	must(dat_ia_open(name, 8, &async, &w.a.ia));
	must(dat_sim_of(w.a.ia, &w.sim));
}

static void leave_fabric(void)
{
	char path[64];

	must(dat_ia_close(w.a.ia, DAT_CLOSE_ABRUPT_FLAG));
	w.a.ia = w.sim = NO_HANDLE;
	unsetenv("DATSIM_FAULTS");
	unsetenv("DATSIM_FABRIC");
	unsetenv("DATSIM_LOCKSTEP");
	unsetenv("DATSIM_TRACE");
	unsetenv("XDG_RUNTIME_DIR");
	snprintf(path, sizeof(path), "%s/datsim", folder);
	rmdir(path);
	rmdir(folder);
	memset(folder + sizeof(folder) - 7, 'X', 6);
}

/* A process that leaves does not report what others may still add to. */
START_TEST(fault_text_of_a_shared_fabric_is_not_counted_by_a_process)
{
	const char *text;

	setenv("DATSIM_FAULTS", "line=7 packets=SEND verdict=drop", 1);
	share_fabric();
	text = trace_of_rules();
	ck_assert_ptr_nonnull(strstr(text, " - rule is=1 "));
	ck_assert_ptr_null(strstr(text, "rule fired="));
	leave_fabric();
}
END_TEST

/* Of the text that was refused, the first rule was good. */
START_TEST(fault_text_that_was_refused_is_forgotten)
{
	const char *text;

	said_start();
	ck_assert_int_ne(create_with("line=7 packets=SEND verdict=drop; x"), DAT_SUCCESS);
	said_stop();
	share_fabric();
	drop(DAT_SIM_PACKET_SEND, 1);
	text = trace_of_rules();
	ck_assert_ptr_null(strstr(text, "line=7"));
	leave_fabric();
}
END_TEST

/* A rule names both ends: each of two that differ in one of them takes its own packets only. */
START_TEST(fault_text_names_both_ends_of_a_packet)
{
	static const char *const ends[] = { "from=emu0", "to=emu1", "from=emu1", "to=emu0",
					    "from_ep=1", "to_ep=2", "from_ep=2", "to_ep=1" };
	char text[64];
	DAT_UINT64 times;

	snprintf(text, sizeof(text), "packets=SEND verdict=pass %s", ends[_i]);
	ck_assert_int_eq(create_with(text), DAT_SUCCESS);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	must(dat_ep_free(plain_ep(&w.b)));
	plain_pair();
	post_recvs(&w.b, w.b.ep, 20, 1);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	ck_assert_int_eq(drain(w.b.recv), 1);
	must(dat_sim_fault_fired(w.sim, 1, &times));
	ck_assert_uint_eq(times, _i % 4 < 2);
}
END_TEST

/* Pieces of rules in any order: a fabric that can be created can also be destroyed. */
START_TEST(fault_text_of_any_kind_is_safe)
{
	static const char *const pieces[] = {
		"verdict=", "drop",  " ",    ";",    "nth=",      "packets=", "SEND", "|",
		"=",        "from=", "emu1", "9999", "delay_ns=", "\n",       "nak=", "\xff",
	};
	unsigned int state = 1 + (unsigned int)_i;
	char text[400];

	for (int n = 0; n < 200; n++) {
		text[0] = '\0';
		for (int k = 0; k < 40; k++) {
			state = state * 1103515245 + 12345;
			strcat(text, pieces[(state >> 16) % COUNT(pieces)]);
		}
		if (create_with(text) == DAT_SUCCESS)
			destroy();
	}
	leave_one();
}
END_TEST

static void setup_none(void)
{
}

static void fill(Suite *suite)
{
	unit_add(suite, fault_text_with_a_name_of_no_adapter_is_told_what_a_name_is, 2, NULL);
	unit_add(suite, fault_text_that_makes_no_sense_begins_nothing, (int)COUNT(bad), setup_none);
	unit_add(suite, fault_text_that_makes_no_sense_is_quoted_and_nothing_else, 1, setup_none);
	unit_add(suite, fault_text_without_rules_is_none, 1, setup_none);
	unit_add(suite, fault_text_takes_every_field, 1, setup_none);
	unit_add(suite, fault_text_rule_acts_and_says_so_in_the_trace, 1, setup_none);
	unit_add(suite, fault_text_names_both_ends_of_a_packet, 8, setup_none);
	unit_add(suite, fault_text_reports_each_rule_in_the_trace, 1, setup_none);
	unit_add(suite, fault_text_of_any_kind_is_safe, 10, setup_none);
	/* These start a helper. */
	unit_add(suite, fault_text_of_a_shared_fabric_is_not_counted_by_a_process, 1, setup_none);
	unit_add(suite, fault_text_that_was_refused_is_forgotten, 1, setup_none);
}

UNIT_SUITE("fault_text")
