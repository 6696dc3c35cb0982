/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The store of datsim explore, without running anything: how a failure is written and read, what a
 * damaged file is answered, which of two scripts stays, what coverage counts, and how positions are
 * united.
 */
#include "tests/support/support.h"
#include "tools/datsim/explore/campaign.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- the file ---- */

static void entry_make(struct entry *entry, const char *lines)
{
	*entry = (struct entry){ .schedule = 12, .seed = 3, .shrunk = true };
	text_add(&entry->target, "server + client");
	text_add(&entry->ending, "client exits with 3");
	text_add(&entry->shape, "timing");
	text_add(&entry->says, "client exits with 3");
	text_add(&entry->version, "1.2");
	text_add(&entry->before, "datsim run --script ");
	text_add(&entry->after, " -- ./a b");
	text_add(&entry->lines, "%s", lines);
	entry_name(entry);
}

static bool parse(const struct entry *like, const struct text *content, struct entry *entry,
		  struct text *error)
{
	struct text name = { 0 };
	bool good;

	text_add(&name, "%s.dsim", text_of(&like->name));
	error->length = 0;
	good = entry_parse(entry, "x", text_of(&name), content, error);
	ck_assert_int_eq(good, !error->length);
	text_free(&name);
	return good;
}

START_TEST(a_failure_is_read_as_it_was_written_in_any_folder)
{
	static const char *const folders[] = { "DIR", "/tmp/my dir's", "a b" };
	struct text content = { 0 }, again = { 0 }, error = { 0 };
	struct entry entry, read;

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		struct store store = { .fd = -1, .dir = folders[i] };

		entry_make(&entry, "fault link a>b drop nth=1\n");
		content.length = again.length = 0;
		entry_format(&store, &entry, &content);
		ck_assert(parse(&entry, &content, &read, &error));
		ck_assert_str_eq(text_of(&read.after), " -- ./a b");
		ck_assert_str_eq(text_of(&read.before), "datsim run --script ");
		entry_format(&store, &read, &again);
		ck_assert_str_eq(text_of(&again), text_of(&content));
		entry_free(&entry);
		entry_free(&read);
	}
	text_free(&content);
	text_free(&again);
	text_free(&error);
}
END_TEST

START_TEST(a_failure_that_is_cut_or_changed_is_an_error_and_no_crash)
{
	const struct store store = { .fd = -1, .dir = "DIR" };
	struct text content = { 0 }, error = { 0 }, other = { 0 };
	struct entry entry, read;
	size_t header, i;

	entry_make(&entry, "fault link a>b drop nth=1\n");
	entry_format(&store, &entry, &content);
	header = (size_t)(strstr(content.s, "# ----\n") - content.s);
	for (i = 0; i < content.length; i++) {
		other.length = 0;
		text_append(&other, content.s, i);
		ck_assert(!parse(&entry, &other, &read, &error));
		entry_free(&read);
	}
	for (i = 0; i < header; i++) {
		other.length = 0;
		text_append(&other, content.s, content.length);
		other.s[i] = '\n';
		parse(&entry, &other, &read, &error);
		entry_free(&read);
		other.s[i] = (char)0xff;
		parse(&entry, &other, &read, &error);
		entry_free(&read);
	}
	text_free(&content);
	text_free(&other);
	text_free(&error);
	entry_free(&entry);
}
END_TEST

START_TEST(the_shorter_script_stays_whichever_comes_first)
{
	struct store store = { .fd = -1 };
	struct entry entry;
	bool fresh;

	entry_make(&entry, "fault link a>b drop nth=1\n");
	ck_assert_str_eq(text_of(&store_put(&store, &entry, &fresh)->lines),
			 "fault link a>b drop nth=1\n");
	ck_assert(fresh);
	entry_make(&entry, "fabric seed=3\nfault link a>b drop nth=1\n");
	store_put(&store, &entry, &fresh);
	ck_assert(!fresh);
	ck_assert_uint_eq(store.count, 1);
	ck_assert_str_eq(text_of(&store.list[0].lines), "fault link a>b drop nth=1\n");
	entry_make(&entry, "fault link a>b rnr\n");
	store_put(&store, &entry, &fresh);
	ck_assert_str_eq(text_of(&store.list[0].lines), "fault link a>b rnr\n");
	store_close(&store);
}
END_TEST

/* ---- coverage ---- */

static const char trace[] = "libdat trace 1\n# seed=1\n"
			    "0 emu0.ep1 create\n"
			    "5 emu0.ep1 state from=UNCONNECTED to=CONNECTED by=connection\n"
			    "6 emu0>emu1 drop rule=1 op=ACK\n"
			    "6 emu0>emu1 drop rule=1 op=ACK\n"
			    "7 - rule add=1 verdict=drop\n"
			    "8 emu0.ep1 fail cause=RETRY message=1\n"
			    "8 emu0.ep1 complete op=SEND status=TRANSPORT bytes=0 message=1\n"
			    "9 emu0.qp1 refuse call=ibv_modify_qp error=EINVAL\n"
			    "9 emu0.ep1 refuse call=dat_ep_free type=DAT_INVALID_STATE subtype=X\n"
			    "9 emu0 fault rule=1001 does=fail at=post_send\n"
			    "9 emu0.evd1 event number=CONNECTION_BROKEN object=emu0.ep1\n"
			    "# end lines=8\n";

static void covers(const struct coverage *coverage, enum cover_kind kind, const char *name,
		   uint64_t schedules, uint64_t times)
{
	for (size_t i = 0; i < coverage->count; i++) {
		const struct cover *cover = &coverage->list[i];

		if (cover->kind != kind || strcmp(cover->name, name) != 0)
			continue;
		ck_assert_uint_eq(cover->schedules, schedules);
		ck_assert_uint_eq(cover->times, times);
		return;
	}
	ck_abort_msg("%s is not covered", name);
}

START_TEST(coverage_counts_each_thing_once_a_schedule)
{
	struct coverage coverage = { .list = NULL }, copy = { .list = NULL };
	struct text text = { 0 };
	const char *at;

	coverage_read(&coverage, trace, strlen(trace));
	coverage_read(&coverage, trace, strlen(trace));
	coverage_read(&coverage, "", 0);
	ck_assert_uint_eq(coverage.schedules, 3);
	ck_assert_uint_eq(coverage.count, 8);
	covers(&coverage, COVER_TRANSITION, "ep UNCONNECTED > CONNECTED", 2, 2);
	covers(&coverage, COVER_FAULT, "drop", 2, 4);
	covers(&coverage, COVER_FAULT, "fail post_send", 2, 2);
	covers(&coverage, COVER_CAUSE, "RETRY", 2, 2);
	covers(&coverage, COVER_COMPLETION, "SEND TRANSPORT", 2, 2);
	covers(&coverage, COVER_CALL, "ibv_modify_qp EINVAL", 2, 2);
	covers(&coverage, COVER_CALL, "dat_ep_free DAT_INVALID_STATE", 2, 2);
	covers(&coverage, COVER_EVENT, "CONNECTION_BROKEN", 2, 2);
	coverage_format(&coverage, &text);
	at = text_of(&text);
	ck_assert(header_number(&at, "covered-schedules", &copy.schedules));
	while (coverage_take(&at, &copy))
		;
	ck_assert_str_eq(at, "");
	coverage_unite(&copy, &coverage);
	covers(&copy, COVER_FAULT, "drop", 4, 8);
	ck_assert_uint_eq(copy.schedules, 6);
	text_free(&text);
	coverage_free(&coverage);
	coverage_free(&copy);
}
END_TEST

/* ---- positions ---- */

START_TEST(a_position_is_read_as_it_was_written_and_cut_it_is_an_error)
{
	struct position position = { .seed = 1, .shard = 3, .shards = 8, .kinds = 255, .done = 77 };
	struct position read;
	struct text content = { 0 }, again = { 0 }, error = { 0 }, cut = { 0 };

	text_add(&position.target, "rpc");
	position_count(&position, "exit-0123456789abcdef", 5);
	coverage_read(&position.coverage, trace, strlen(trace));
	position_format(&position, &content);
	ck_assert(position_parse(&read, "x", &content, &error));
	position_format(&read, &again);
	ck_assert_str_eq(text_of(&again), text_of(&content));
	position_free(&read);
	for (size_t i = 0; i < content.length; i++) {
		cut.length = error.length = 0;
		text_append(&cut, content.s, i);
		ck_assert(!position_parse(&read, "x", &cut, &error));
		ck_assert_uint_gt(error.length, 0);
		position_free(&read);
	}
	position_free(&position);
	text_free(&content);
	text_free(&again);
	text_free(&error);
	text_free(&cut);
}
END_TEST

START_TEST(a_seed_of_64_bits_is_read_as_it_was_written)
{
	const struct store store = { .fd = -1, .dir = "DIR" };
	struct position position = { .seed = UINT64_MAX, .shard = 1, .shards = 1 }, again;
	struct text content = { 0 }, error = { 0 };
	struct entry entry, read;
	char *digit;

	entry_make(&entry, "fault link a>b drop nth=1\n");
	entry.seed = UINT64_MAX;
	entry_format(&store, &entry, &content);
	ck_assert_msg(parse(&entry, &content, &read, &error), "%s", text_of(&error));
	ck_assert_uint_eq(read.seed, UINT64_MAX);
	entry_free(&read);
	digit = strstr(content.s, "18446744073709551615");
	digit[19] = '6';
	ck_assert(!parse(&entry, &content, &read, &error));
	entry_free(&read);
	entry_free(&entry);
	content.length = error.length = 0;
	text_put(&position.target, "rpc");
	position_format(&position, &content);
	ck_assert_msg(position_parse(&again, "x", &content, &error), "%s", text_of(&error));
	ck_assert_uint_eq(again.seed, UINT64_MAX);
	position_free(&again);
	position_free(&position);
	text_free(&content);
	text_free(&error);
}
END_TEST

/* Two failures have one name since merge has shortened them. */
START_TEST(a_campaign_goes_on_with_all_counts_of_a_failure)
{
	char dir[] = "/tmp/libdat-store-XXXXXX";
	struct course course = { .seed = 1, .shard = 1, .shards = 1 };
	struct position position = { .seed = 1, .shard = 1, .shards = 1, .done = 9, .failed = 7 };
	struct campaign campaign;
	struct text content = { 0 }, path = { 0 };
	struct entry entry;
	bool fresh;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	course.store = dir;
	ck_assert(campaign_begin(&campaign, &course, "rpc"));
	entry_make(&entry, "fault link a>b drop nth=1\n");
	text_add(&path, "%s", text_of(&store_put(&campaign.store, &entry, &fresh)->name));
	text_put(&position.target, "rpc");
	position.cpu = 1000;
	position_count(&position, text_of(&path), 3);
	position_count(&position, text_of(&path), 4);
	position_format(&position, &content);
	ck_assert(store_write(&campaign.store, text_of(&campaign.position), &content));
	campaign_free(&campaign);
	course.resume = true;
	ck_assert(campaign_begin(&campaign, &course, "rpc"));
	ck_assert_uint_eq(campaign.before, 9);
	ck_assert_uint_eq(campaign.store.list[0].count, 7);
	campaign_save(&campaign, 10, true);
	campaign.store.unwritten = 1;
	campaign_save(&campaign, 11, true);
	ck_assert(campaign.unsaved);
	campaign_free(&campaign);
	ck_assert(campaign_begin(&campaign, &course, "rpc"));
	ck_assert_uint_eq(campaign.before, 10);
	ck_assert(campaign.cpu_before >= 1000);
	unlinkat(campaign.store.fd, text_of(&campaign.position), 0);
	text_add(&path, ".dsim");
	unlinkat(campaign.store.fd, text_of(&path), 0);
	campaign_free(&campaign);
	rmdir(dir);
	position_free(&position);
	text_free(&content);
	text_free(&path);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, a_failure_is_read_as_it_was_written_in_any_folder);
	unit_test_bare(suite, a_failure_that_is_cut_or_changed_is_an_error_and_no_crash);
	unit_test_bare(suite, the_shorter_script_stays_whichever_comes_first);
	unit_test_bare(suite, coverage_counts_each_thing_once_a_schedule);
	unit_test_bare(suite, a_position_is_read_as_it_was_written_and_cut_it_is_an_error);
	unit_test_bare(suite, a_seed_of_64_bits_is_read_as_it_was_written);
	unit_test_bare(suite, a_campaign_goes_on_with_all_counts_of_a_failure);
}

UNIT_SUITE("store of datsim explore")
