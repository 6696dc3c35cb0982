/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trace of a shared fabric that keeps its end (emu/fabric/ring.h): which lines it keeps, what
 * is left if a process dies as it enters a segment, and nonsense in place of its positions.
 */
#include <stdlib.h>
#include <unistd.h>

#include "emu/fabric/arena.h"
#include "emu/fabric/ring.h"
#include "emu/fabric/spare.h"
#include "emu/fabric/trace.h"
#include "emu/fabric/world.h"
#include "lone.h"
#include "tests/support/support.h"

#define LAST    65536ul
#define SEGMENT (EMU_RING_LEAST / EMU_SEGMENTS)
/* A record of kind TEXT with "- note 0123456" */
#define NOTE_BYTES (EMU_RECORD_HEAD + 16)
#define DROPPED    "- note " EMU_RING_DROPPED "\n"
#define GARBAGE    "- note garbage in the trace: later lines are missing\n"

static struct emu_world *world;
static struct emu_fabric *fab;

static void setup(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;

	config.trace_last = LAST;
	world = lone_begin(config);
	fab = world->fab;
	fab->trace_on = true;
}

static void end_world(void)
{
	emu_trace_forget(world);
	fab->trace_on = false;
	fab->adapter_high = 0;
	lone_end(world);
}

/* Its lines behind the header. */
static const char *events(void)
{
	const char *text, *line;
	size_t length;

	ck_assert_int_eq(emu_trace_text(world, &text, &length), 0);
	ck_assert_uint_eq(length, strlen(text));
	line = strstr(text, "\n# trace_last=");
	return strchr(line + 1, '\n') + 1;
}

static void note(unsigned int n)
{
	fab->now = n;
	emu_trace_line(world, "- note %07u", n);
}

static void notes(unsigned int from, unsigned int end)
{
	for (unsigned int n = from; n < end; n++)
		note(n);
}

/* The lines are those of notes first .. end - 1. */
static void expect_notes(const char *text, unsigned int first, unsigned int end)
{
	char line[64];

	for (unsigned int n = first; n < end; n++) {
		size_t length = (size_t)sprintf(line, "%u - note %07u\n", n, n);

		ck_assert_msg(strncmp(text, line, length) == 0, "expected %.*s, got %.40s",
			      (int)length - 1, line, text);
		text += length;
	}
	ck_assert_int_eq(*text, '\0');
}

/* The first line says that there were others, and the rest are notes until `end`. */
static unsigned int expect_kept(unsigned int end)
{
	const char *text = events();
	unsigned int first = (unsigned int)strtoul(text, NULL, 10);
	char line[128];
	size_t length = (size_t)sprintf(line, "%u " DROPPED, first);

	ck_assert_int_eq(strncmp(text, line, length), 0);
	expect_notes(text + length, first, end);
	return first;
}

static bool no_memory(struct emu_world *of, const void *at, uint64_t bytes)
{
	(void)of;
	(void)at;
	(void)bytes;
	return false;
}

/* How many notes are in a segment: each is written where there is room for the longest line. */
static unsigned int segment_notes(void)
{
	return (SEGMENT - EMU_RING_ROOM - EMU_RECORD_HEAD - EMU_TRACE_LINE) / NOTE_BYTES + 1;
}

START_TEST(a_trace_that_fits_is_whole)
{
	unsigned int all = EMU_SEGMENTS * segment_notes();

	notes(0, all);
	ck_assert_uint_eq(fab->trace_oldest, 0);
	expect_notes(events(), 0, all);
	/* One more: the first segment is dropped. */
	note(all);
	ck_assert_uint_eq(fab->trace_oldest, SEGMENT);
	ck_assert_uint_eq(expect_kept(all + 1), segment_notes());
}
END_TEST

/* However long it is; and what was read before is read again. */
START_TEST(the_end_of_a_longer_trace_is_kept)
{
	unsigned int end = 0, first;

	for (int i = 0; i < 40; i++) {
		notes(end, end + 3001);
		end += 3001;
		if (end < EMU_RING_LEAST / NOTE_BYTES)
			continue;
		first = expect_kept(end);
		ck_assert_uint_ge((end - first) * NOTE_BYTES, LAST);
		ck_assert_uint_eq(first % segment_notes(), 0);
	}
	ck_assert_uint_eq(fab->trace_room, EMU_RING_LEAST + EMU_PAGE);
}
END_TEST

/* Each is longer than what may be left of a segment. */
START_TEST(long_lines_and_short_ones_are_kept)
{
	static char words[8000];
	const char *text;
	unsigned int n;

	memset(words, 'x', sizeof(words) - 1);
	for (n = 0; n < 1000; n++) {
		note(n);
		emu_trace_line(world, "- note %.*s", (int)(n * 37 % sizeof(words)), words);
	}
	text = events();
	ck_assert_ptr_nonnull(strstr(text, DROPPED));
	ck_assert_uint_ge(strlen(text), LAST);
	n = (unsigned int)strtoul(text, NULL, 10);
	for (text = strchr(text, '\n') + 1; *text; text = strchr(text, '\n') + 1) {
		size_t length = strcspn(text, "\n");
		char *note_of;

		ck_assert_uint_eq(strtoul(text, &note_of, 10), n);
		length -= (size_t)(note_of - text) + strlen(" - note ");
		if (note_of[strlen(" - note ")] == '0')
			continue;
		ck_assert_uint_eq(length, n * 37 % sizeof(words));
		n++;
	}
	ck_assert_uint_eq(n, 1000);
}
END_TEST

/* A reader that was overtaken goes on with the oldest line, and says that there were others. */
START_TEST(a_reader_that_is_overtaken_says_so)
{
	unsigned int far = 3 * EMU_RING_LEAST / NOTE_BYTES, n = 0, first = 0;
	static char line[EMU_TRACE_LINE];
	struct emu_trace_reader reader;
	char said[128];
	size_t length;

	ck_assert(emu_reader_open(&reader, true));
	notes(0, 10);
	emu_reader_look(world, &reader);
	for (; n < 10; n++)
		ck_assert(emu_reader_next(world, &reader, line, &length));
	ck_assert(!emu_reader_next(world, &reader, line, &length));
	notes(10, far);
	ck_assert(!emu_reader_next(world, &reader, line, &length));
	emu_reader_look(world, &reader);
	ck_assert(emu_reader_next(world, &reader, line, &length));
	first = (unsigned int)strtoul(line, NULL, 10);
	sprintf(said, "%u " DROPPED, first);
	ck_assert_str_eq(line, said);
	for (n = first; n < far;) {
		ck_assert(emu_reader_next(world, &reader, line, &length));
		ck_assert(length == 0 || strtoul(line, NULL, 10) == n);
		n += length > 0;
	}
	ck_assert(!emu_reader_next(world, &reader, line, &length));
	ck_assert_uint_eq(reader.lines, 10 + 1 + far - first);
	emu_reader_close(&reader);
}
END_TEST

/* ---- names of adapters ---- */

static void name_adapter(uint16_t adapter, const char *name)
{
	if (adapter > fab->adapter_high)
		fab->adapter_high = adapter;
	snprintf(fab->adapters[adapter].name, EMU_NAME, "%s", name);
	emu_trace_adapter(world, adapter);
}

static void message_of(uint16_t adapter)
{
	struct emu_record record = { .head = { .now = fab->now,
					       .kind = EMU_RECORD_COMPLETE,
					       .nouns = NIC_NOUN_QP,
					       .words = emu_record_words(5 * sizeof(uint32_t)),
					       .adapter = adapter },
				     .value = { 1, 0, 0, 1, 2 } };

	emu_record_elsewhere(world, &record);
}

/* The record that gave the first one its name was dropped, and another has its place now. */
START_TEST(a_line_has_the_name_that_its_adapter_had)
{
	const char *text;

	name_adapter(1, "early");
	name_adapter(2, "stays");
	notes(0, 2 * EMU_RING_LEAST / NOTE_BYTES);
	message_of(1);
	message_of(2);
	/* It is closed: as emu_adapter_close, and as the clean-up behind a dead process. */
	emu_trace_adapter(world, 1);
	name_adapter(1, "later");
	message_of(1);
	message_of(2);
	text = events();
	ck_assert_ptr_nonnull(text = strstr(text, " early.qp1 complete "));
	ck_assert_ptr_nonnull(text = strstr(text, " stays.qp1 complete "));
	ck_assert_ptr_nonnull(text = strstr(text, " later.qp1 complete "));
	ck_assert_ptr_nonnull(text = strstr(text, " stays.qp1 complete "));
}
END_TEST

/* ---- deaths ---- */

/* The lines of a delivery that did not happen may have been the first ones of a segment. */
START_TEST(lines_are_taken_back_out_of_the_next_segment)
{
	unsigned int all = 20 * segment_notes();
	uint64_t before;

	notes(0, all - 1);
	before = fab->trace_length;
	notes(all - 1, all + 2);
	ck_assert_uint_ne(before / SEGMENT, fab->trace_length / SEGMENT);
	emu_trace_take_back(world, before);
	expect_kept(all - 1);
	/* And the segment is entered again. */
	notes(all - 1, all + 2 * segment_notes());
	expect_kept(all + 2 * segment_notes());
}
END_TEST

/* Killed before each of the three stores, and the others go on. */
START_TEST(a_death_between_two_segments_leaves_a_trace)
{
	unsigned int all = 20 * segment_notes(), first;
	static char before[EMU_RING_LEAST], end[EMU_RECORD_HEAD];
	uint64_t length, oldest;
	char *place;

	notes(0, all);
	length = fab->trace_length;
	oldest = fab->trace_oldest;
	place = fab->trace + (length & (EMU_RING_LEAST - 1));
	memcpy(before, fab->trace, sizeof(before));
	note(all);
	ck_assert_uint_eq(fab->trace_oldest, oldest + SEGMENT);
	memcpy(end, place, sizeof(end));
	memcpy(fab->trace, before, sizeof(before));
	if (_i == 0)
		fab->trace_oldest = oldest;
	if (_i == 2)
		memcpy(place, end, sizeof(end));
	fab->trace_length = length;
	/* As another process, which entered no segment. */
	world->trace_limit = length - length % SEGMENT;
	first = expect_kept(all);
	ck_assert_uint_eq(first, all - (_i ? 7 : 8) * segment_notes());
	notes(all, all + 1000);
	expect_kept(all + 1000);
}
END_TEST

/* ---- nonsense ---- */

static const struct {
	uint64_t oldest, length;
} wrong[] = {
	{ 0, UINT64_MAX },     { 0, UINT64_MAX / 2 }, { 0, EMU_RING_LEAST + EMU_WORD },
	{ SEGMENT, EMU_WORD }, { EMU_WORD, SEGMENT }, { UINT64_MAX, SEGMENT },
};

START_TEST(positions_that_make_no_sense_end_the_trace)
{
	note(1);
	fab->trace_oldest = wrong[_i].oldest;
	fab->trace_length = wrong[_i].length;
	world->trace_limit = 0;
	ck_assert_str_eq(events(), "0 " GARBAGE);
	note(2);
	ck_assert(!fab->trace_on);
	ck_assert_uint_eq(fab->trace_length, wrong[_i].length);
	fab->trace_length = fab->trace_oldest = 0;
}
END_TEST

/* Another process writes them while the trace is read: what was looked at bounds the reader. */
START_TEST(positions_that_move_on_do_not_keep_a_reader)
{
	static char line[EMU_TRACE_LINE];
	struct emu_trace_reader reader;
	unsigned int lines = 0, all = 20 * segment_notes();
	size_t length;

	ck_assert(emu_reader_open(&reader, true));
	notes(0, all);
	emu_reader_look(world, &reader);
	while (emu_reader_next(world, &reader, line, &length)) {
		lines += length > 0;
		fab->trace_oldest += SEGMENT;
		fab->trace_length += SEGMENT;
	}
	ck_assert_uint_eq(lines, 1 + 8 * segment_notes());
	emu_reader_close(&reader);
	fab->trace_length = fab->trace_oldest = 0;
}
END_TEST

/* There is no memory for the next segment: the trace ends there, and says so. */
START_TEST(a_ring_that_cannot_grow_is_full)
{
	const struct emu_sharing *sharing = world->sharing;
	struct emu_sharing poor = *sharing;
	const char *text, *last;

	poor.back = no_memory;
	world->sharing = &poor;
	/* Of 40 bytes, which do not fill a segment to its end. */
	for (unsigned int n = 0; n < 10 * segment_notes(); n++)
		emu_trace_line(world, "- note %07u and more", n);
	world->sharing = sharing;
	ck_assert(!fab->trace_on && fab->trace_full);
	text = events();
	last = strstr(text, " - note " EMU_TRACE_FULL "\n");
	ck_assert_ptr_nonnull(last);
	ck_assert_str_eq(strchr(last, '\n') + 1, "");
	ck_assert_uint_le(fab->trace_room, EMU_TRACE_FIRST);
	fab->trace_full = false;
}
END_TEST

static const uint64_t wild_positions[] = { EMU_RING_LEAST * 5 + SEGMENT + 24,
					   EMU_RING_LEAST * 5 - EMU_WORD, EMU_RING_LEAST * 5 - 3 };

/* A stale limit lets a record through at any position: it stays in the ring, or ends behind it. */
START_TEST(a_wild_position_leads_to_no_other_memory)
{
	uint64_t wild = wild_positions[_i], place = wild & (EMU_RING_LEAST - 1);

	notes(0, EMU_RING_LEAST / NOTE_BYTES);
	world->trace_limit = UINT64_MAX;
	fab->trace_length = wild;
	emu_record_put(world, EMU_RECORD_TAKE, NIC_NOUN_QP, 1, 0, 1, 2, 3, 4);
	ck_assert_uint_eq(((emu_record_place *)(fab->trace + place))->value[3], 4);
	ck_assert_uint_eq(fab->trace_room, EMU_RING_LEAST + EMU_PAGE);
	fab->trace_length = fab->trace_oldest = 0;
}
END_TEST

/* In a segment, and at its end, where END is. */
START_TEST(a_record_that_makes_no_sense_ends_the_text_of_a_ring)
{
	struct emu_record *second;

	note(1);
	second = (struct emu_record *)(fab->trace + fab->trace_length);
	notes(2, 4);
	*second = (struct emu_record){ .head = { .now = 9, .kind = EMU_RECORD_TAKE } };
	second->head.words = _i ? UINT16_MAX : 0;
	ck_assert_str_eq(events(), "1 - note 0000001\n"
				   "9 " GARBAGE);
	emu_trace_forget(world);
	second->head.kind = EMU_RECORD_END;
	second->head.words = 2;
	/* There is none in the next segment. */
	fab->trace_length = SEGMENT + EMU_RECORD_HEAD;
	ck_assert_str_eq(strchr(events(), '\n') + 1, "0 " GARBAGE);
	fab->trace_length = 0;
}
END_TEST

/* Its text would go on behind the ring if the segment were the last one. */
START_TEST(a_line_that_crosses_the_end_of_its_segment_is_garbage)
{
	unsigned int last = segment_notes() - 1;
	struct emu_record *record = (struct emu_record *)(fab->trace + last * NOTE_BYTES);
	const char *text, *end;

	notes(0, 3 * segment_notes());
	record->head.words = (uint16_t)((SEGMENT - last * NOTE_BYTES) / EMU_WORD + _i);
	text = events();
	end = strstr(text, GARBAGE);
	if (_i == 0) {
		/* To its end it may be, and the next record is in the next segment. */
		ck_assert_ptr_null(end);
		expect_notes(text, 0, 3 * segment_notes());
	} else {
		ck_assert_ptr_nonnull(end);
		ck_assert_str_eq(end, GARBAGE);
	}
}
END_TEST

/* The last adapter that there can be, in all tables of names. */
START_TEST(the_last_adapter_has_its_name)
{
	const char *text;

	name_adapter(EMU_ADAPTERS, "early");
	notes(0, 2 * EMU_RING_LEAST / NOTE_BYTES);
	message_of(EMU_ADAPTERS);
	emu_trace_adapter(world, EMU_ADAPTERS);
	name_adapter(EMU_ADAPTERS, "later");
	message_of(EMU_ADAPTERS);
	text = events();
	ck_assert_ptr_nonnull(text = strstr(text, " early.qp1 complete "));
	ck_assert_ptr_nonnull(text = strstr(text, " later.qp1 complete "));
	emu_trace_forget(world);
	/* One whose record is gone has the name still. */
	notes(0, 2 * EMU_RING_LEAST / NOTE_BYTES);
	message_of(EMU_ADAPTERS);
	ck_assert_ptr_nonnull(strstr(events(), " later.qp1 complete "));
}
END_TEST

/* Its record would lead an ordinary trace into nowhere. */
START_TEST(there_is_no_END_in_a_trace_that_keeps_its_beginning)
{
	struct emu_record *second;

	world->config.trace_ring = 0;
	note(1);
	second = (struct emu_record *)(fab->trace + fab->trace_length);
	notes(2, 4);
	second->head.kind = EMU_RECORD_END;
	ck_assert_str_eq(strchr(events(), '\n') + 1, "2 " GARBAGE);
	world->config.trace_ring = EMU_RING_LEAST;
	fab->trace_length = 0;
}
END_TEST

static const uint64_t no_rings[] = {
	1, EMU_RING_LEAST / 2, EMU_RING_LEAST + 1, 3 * EMU_RING_LEAST, 2 * EMU_RING_MOST, UINT64_MAX
};

START_TEST(a_size_that_no_ring_has_is_refused)
{
	ck_assert(!emu_ring_is_valid(no_rings[_i]));
	ck_assert(emu_ring_is_valid(0));
	ck_assert_uint_eq(emu_ring_size(LAST), EMU_RING_LEAST);
	ck_assert_uint_eq(emu_ring_size(EMU_RING_LEAST / 2), EMU_RING_LEAST);
	ck_assert_uint_eq(emu_ring_size(EMU_RING_LEAST / 2 + 1), 2 * EMU_RING_LEAST);
	ck_assert_uint_eq(emu_ring_size(EMU_RING_MOST / 2), EMU_RING_MOST);
	for (uint64_t last = LAST; last <= EMU_RING_MOST / 2; last = last * 3 / 2) {
		ck_assert(emu_ring_is_valid(emu_ring_size(last)));
		ck_assert_uint_ge(emu_ring_size(last), 2 * last);
	}
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("ring");

	tcase_add_checked_fixture(tcase, setup, end_world);
	tcase_add_test(tcase, a_trace_that_fits_is_whole);
	tcase_add_test(tcase, the_end_of_a_longer_trace_is_kept);
	tcase_add_test(tcase, long_lines_and_short_ones_are_kept);
	tcase_add_test(tcase, a_reader_that_is_overtaken_says_so);
	tcase_add_test(tcase, a_line_has_the_name_that_its_adapter_had);
	tcase_add_test(tcase, lines_are_taken_back_out_of_the_next_segment);
	tcase_add_loop_test(tcase, a_death_between_two_segments_leaves_a_trace, 0, 3);
	tcase_add_loop_test(tcase, positions_that_make_no_sense_end_the_trace, 0,
			    (int)COUNT(wrong));
	tcase_add_test(tcase, positions_that_move_on_do_not_keep_a_reader);
	tcase_add_test(tcase, a_ring_that_cannot_grow_is_full);
	tcase_add_loop_test(tcase, a_wild_position_leads_to_no_other_memory, 0,
			    (int)COUNT(wild_positions));
	tcase_add_loop_test(tcase, a_record_that_makes_no_sense_ends_the_text_of_a_ring, 0, 2);
	tcase_add_loop_test(tcase, a_line_that_crosses_the_end_of_its_segment_is_garbage, 0, 2);
	tcase_add_test(tcase, the_last_adapter_has_its_name);
	tcase_add_test(tcase, there_is_no_END_in_a_trace_that_keeps_its_beginning);
	tcase_add_loop_test(tcase, a_size_that_no_ring_has_is_refused, 0, (int)COUNT(no_rings));
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("ring")
