/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of datsim that no small script reaches: results as JUnit XML, the time scale of a picture,
 * what a script needs of a fabric, and the first name of a script.
 */
#include "tests/support/support.h"
#include "tools/datsim/junit.h"
#include "tools/datsim/script/script.h"
#include "tools/datsim/show/svg.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- results as XML ---- */

static const struct {
	enum exit_code code;
	const char *report;
} verdicts[] = {
	{ EXIT_PASS, "" },
	{ EXIT_UNSUPPORTED, "a <simulated> link\n" },
	{ EXIT_FAILED, "x.dsim:2: no \"event\"\n" },
	{ EXIT_USAGE, "x.dsim:1: bad\n" },
	{ EXIT_INTERNAL, "out of memory\n" },
	{ EXIT_PASS, "" },
};

static const char xml[] =
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	"<testsuite name=\"datsim\" tests=\"6\" failures=\"1\" errors=\"2\" skipped=\"1\" "
	"time=\"1.500\">\n"
	"  <testcase classname=\"datsim\" name=\"0 &#38; more\" file=\"x.dsim\" "
	"time=\"0.250\"/>\n"
	"  <testcase classname=\"datsim\" name=\"1 &#38; more\" file=\"x.dsim\" "
	"time=\"0.250\"><skipped message=\"a "
	"&#60;simulated&#62; link\"/></testcase>\n"
	"  <testcase classname=\"datsim\" name=\"2 &#38; more\" file=\"x.dsim\" "
	"line=\"2\" time=\"0.250\"><failure message=\"exit code 1\">"
	"x.dsim:2: no &#34;event&#34;\n</failure></testcase>\n"
	"  <testcase classname=\"datsim\" name=\"3 &#38; more\" file=\"x.dsim\" "
	"line=\"1\" time=\"0.250\"><error message=\"exit code 2\">"
	"x.dsim:1: bad\n</error></testcase>\n"
	"  <testcase classname=\"datsim\" name=\"4 &#38; more\" file=\"x.dsim\" "
	"time=\"0.250\"><error message=\"exit code 99\">"
	"out of memory\n</error></testcase>\n"
	"  <testcase classname=\"datsim\" name=\"5 &#38; more\" file=\"x.dsim\" "
	"time=\"0.250\"/>\n"
	"</testsuite>\n";

START_TEST(each_kind_of_result_has_its_element)
{
	char path[] = "/tmp/libdat-junit-XXXXXX", read[sizeof(xml) + 100] = "", name[32];
	struct junit junit = { .tests = 0 };
	struct text error = { 0 };
	int fd = mkstemp(path);
	FILE *in;

	ck_assert_int_ge(fd, 0);
	close(fd);
	for (size_t i = 0; i < COUNT(verdicts); i++) {
		struct verdict verdict = { .code = verdicts[i].code, .seconds = 0.25 };

		text_add(&verdict.report, "%s", verdicts[i].report);
		snprintf(name, sizeof(name), "%zu & more", i);
		junit_add(&junit, name, "x.dsim", &verdict);
		verdict_free(&verdict);
	}
	ck_assert_msg(junit_write(&junit, path, &error), "%s", text_of(&error));
	in = fopen(path, "r");
	ck_assert_ptr_nonnull(in);
	ck_assert_uint_lt(fread(read, 1, sizeof(read) - 1, in), sizeof(read) - 1);
	fclose(in);
	unlink(path);
	ck_assert_str_eq(read, xml);
}
END_TEST

/* ---- the time scale ---- */

START_TEST(a_time_between_two_moments_lies_between_them)
{
	struct moment moments[] = {
		{ .ns = 1000, .y = 100, .height = 20 },
		{ .ns = 2000, .y = 140, .height = 10 },
		{ .ns = 4000, .y = 200, .height = 30 },
		{ .ns = 9000, .y = 900, .height = 0 }, /* behind the end */
	};
	const struct scale scale = { .moments = moments, .count = 3 };
	static const struct {
		uint64_t ns;
		size_t moment;
		double y;
	} rows[] = {
		{ 0, 0, 71.243 }, { 900, 0, 86 },   { 1000, 0, 100 }, { 1500, 0, 130 },
		{ 2000, 1, 140 }, { 3000, 1, 175 }, { 4000, 2, 200 }, { 5000, 2, 200 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		double y = scale_y(&scale, rows[i].ns);

		ck_assert_ptr_eq(scale_moment(&scale, rows[i].ns), &moments[rows[i].moment]);
		ck_assert_msg(y > rows[i].y - 0.01 && y < rows[i].y + 0.01, "row %zu: %f", i, y);
	}
}
END_TEST

/* ---- scripts ---- */

static void load(struct script *script, const char *text)
{
	DAT_SIM_CONFIG config;

	must(dat_sim_config_init(&config));
	ck_assert_msg(script_load(script, "script", text, strlen(text), &config), "%s",
		      text_of(&script->diag.text));
}

#define USE "use connected a@emu0 b@emu1\n"

static const struct {
	const char *text, *needs;
} needy[] = {
	{ USE, NULL },
	{ "fabric mtu=256 seed=7\n" USE, NULL },
	{ "fabric mtu=256 latency=5us\n" USE, "settings of the fabric" },
	{ USE "hold a>b\nrelease a>b\n", "held messages" },
	{ USE "release a>b\n", "held messages" },
	{ USE "fault link a>b drop\n", "packet faults" },
	{ USE "fault call dat_ep_create fail\n", NULL },
	{ USE "fault completion delay 5us\n", "delays of virtual time" },
	{ USE "link a>b latency=5us\n", "a simulated link" },
	{ USE "+5us quiet\n", NULL },
	{ USE "+5us a: event recv DTO_COMPLETION\n", "events at exact times" },
	{ USE "5us~6us a: event recv DTO_COMPLETION\n", "events at exact times" },
	{ USE "5us~5us a: event recv DTO_COMPLETION\n", "events at exact times" },
	{ USE "+5us a: no event recv\n", NULL },
	{ USE "* a: event recv DTO_COMPLETION\n", NULL },
};

START_TEST(what_only_a_fabric_has_is_named)
{
	struct script script;

	for (size_t i = 0; i < COUNT(needy); i++) {
		const char *needs;

		load(&script, needy[i].text);
		needs = script_needs(&script);
		ck_assert_msg(!needs == !needy[i].needs, "%s: %s", needy[i].text, needs);
		if (needs)
			ck_assert_str_eq(needs, needy[i].needs);
		script_free(&script);
	}
}
END_TEST

START_TEST(the_numbers_of_a_fabric_are_those_of_the_environment)
{
	struct script script;

	load(&script, "fabric mtu=4K seed=18446744073709551615\n" USE);
	ck_assert_uint_eq(script.config.mtu, 4096);
	ck_assert_uint_eq(script.config.seed, UINT64_MAX);
	script_free(&script);
	load(&script, "fabric mtu=0X100 seed=0xfFfFfFfFfFfFfFfF\n" USE);
	ck_assert_uint_eq(script.config.mtu, 256);
	ck_assert_uint_eq(script.config.seed, UINT64_MAX);
	script_free(&script);
}
END_TEST

/* Without a fixture it has the index 0. */
START_TEST(the_first_name_of_a_script_may_be_that_of_a_value)
{
	static const char text[] = "use bare a@emu0\n"
				   "a: dat_registry_list_providers(4) -> {entries_returned=?n}\n";
	struct script script;

	load(&script, text);
	ck_assert_int_eq(script.symbol_count, 1);
	script_free(&script);
}
END_TEST

START_TEST(a_size_may_have_a_fraction)
{
	const struct call *create, *modify;
	struct script script;

	load(&script, "use connected a@emu0 b@emu1 srq=S memory=4.5K\n"
		      "b: dat_lmr_create(ia, 1.5K, pz) -> m\n"
		      "b: dat_ep_modify(ep, {max_rdma_size=2.5K})\n");
	create = &script.statements->next->call;
	modify = &script.statements->next->next->call;
	ck_assert_uint_eq(script.statements->use.memory, 4608);
	ck_assert_uint_eq(create->arguments->next->value->number, 1536);
	ck_assert_uint_eq(modify->in[2]->settings->value->number, 2560);
	script_free(&script);
}
END_TEST

/* More than the tool would have memory for: the call has to refuse it. */
START_TEST(an_absurd_length_is_left_to_the_call)
{
	static const char text[] =
		"use adapter a@emu0\n"
		"a: dat_lmr_create(ia, 0x7fffffffffff, pz) = DAT_INVALID_PARAMETER\n"
		"a: dat_lmr_create(ia, 0, pz) = DAT_LENGTH_ERROR\n";
	const struct options options = { .once = true };
	struct verdict verdict = { .code = EXIT_PASS };

	run_text("script", text, strlen(text), &options, &verdict);
	ck_assert_msg(verdict.code == EXIT_PASS, "%s", text_of(&verdict.report));
	verdict_free(&verdict);
}
END_TEST

static void setup_nothing(void)
{
}

static void fill(Suite *suite)
{
	unit_add(suite, each_kind_of_result_has_its_element, 1, setup_nothing);
	unit_add(suite, a_time_between_two_moments_lies_between_them, 1, setup_nothing);
	unit_add(suite, what_only_a_fabric_has_is_named, 1, setup_nothing);
	unit_add(suite, the_numbers_of_a_fabric_are_those_of_the_environment, 1, setup_nothing);
	unit_add(suite, the_first_name_of_a_script_may_be_that_of_a_value, 1, setup_nothing);
	unit_add(suite, a_size_may_have_a_fraction, 1, setup_nothing);
	unit_add(suite, an_absurd_length_is_left_to_the_call, 1, setup_nothing);
}

UNIT_SUITE("output of datsim")
