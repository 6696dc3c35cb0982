/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a picture as SVG files: one, or an index and pages of SVG_ROWS rows. */
#include "svg.h"

#include <stdlib.h>
#include <string.h>

#include "tools/datsim/files.h"
#include "xml.h"

#define SVG_ROWS  300 /* labels and arrows of one page */
#define SVG_PAGES 100

#define INDEX_WIDTH 760.0
#define INDEX_LINE  22.0

struct page {
	uint64_t begin_ns, end_ns;
	size_t rows, packets, wrong;
};

struct pages {
	struct page *page;
	size_t count;
	bool cut; /* there were more than SVG_PAGES */
};

static bool is_in(const struct picture *picture, uint64_t ns)
{
	return ns >= picture->begin_ns && ns <= picture->end_ns;
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The times of all rows, in order. */
static uint64_t *row_times(const struct picture *picture, size_t *count)
{
	uint64_t *times = mem_zero(picture->label_count + 1, sizeof(*times));
	size_t i;

	*count = 0;
	for (i = 0; i < picture->label_count; i++) {
		if (is_in(picture, picture->labels[i].ns))
			times[(*count)++] = picture->labels[i].ns;
	}
	qsort(times, *count, sizeof(*times), by_time);
	return times;
}

/* Pages end where time passes: what happens at one time is on one page. */
static void pages_split(struct pages *pages, const struct picture *picture)
{
	size_t count, i, first = 0;
	uint64_t *times = row_times(picture, &count);
	struct page *page;

	pages->page = mem_zero(SVG_PAGES, sizeof(*pages->page));
	for (i = 0; i <= count && pages->count < SVG_PAGES; i++) {
		if (i < count && (i - first < SVG_ROWS || times[i] == times[i - 1]))
			continue;
		page = &pages->page[pages->count++];
		page->begin_ns = pages->count == 1 ? picture->begin_ns : page[-1].end_ns + 1;
		page->end_ns = i < count ? times[i] - 1 : picture->end_ns;
		page->rows = i - first;
		first = i;
	}
	pages->cut = first < count;
	free(times);
}

static void page_count(struct page *page, const struct picture *picture)
{
	size_t i;

	for (i = 0; i < picture->arrow_count; i++)
		page->packets += picture->arrows[i].came_ns >= page->begin_ns &&
				 picture->arrows[i].came_ns <= page->end_ns;
	for (i = 0; i < picture->label_count; i++)
		page->wrong += picture->labels[i].mood == MOOD_WRONG &&
			       picture->labels[i].ns >= page->begin_ns &&
			       picture->labels[i].ns <= page->end_ns;
}

/* "story-2.svg" for page 2 of "story.svg" */
static void page_name(const char *path, size_t number, struct text *name)
{
	size_t length = strlen(path);

	if (length > 4 && !strcmp(path + length - 4, ".svg"))
		length -= 4;
	text_append(name, path, length);
	text_add(name, "-%zu.svg", number);
}

static bool write_page(struct picture *picture, const char *path, struct text *error)
{
	FILE *out = create_output(path, error);

	if (!out)
		return false;
	svg_draw(picture, out);
	return finish_file(out, path, error);
}

static double since_us(const struct picture *picture, uint64_t ns)
{
	return (double)(ns - picture->origin_ns) / 1000.0;
}

/* The URL of a file in the same folder: '#', '%', ':' and '?' of its name mean something there. */
static void put_link(FILE *out, const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_.-+@,";
	const char *slash = strrchr(path, '/');

	for (path = slash ? slash + 1 : path; *path; path++) {
		if (strchr(plain, *path))
			fputc(*path, out);
		else
			fprintf(out, "%%%02X", (unsigned int)(unsigned char)*path);
	}
}

static void put_entry(FILE *out, const struct picture *picture, const struct page *page,
		      const char *path, size_t number)
{
	struct text name = { 0 };
	double y = 56.0 + INDEX_LINE * (double)number;

	page_name(path, number, &name);
	fputs("<a href='", out);
	put_link(out, text_of(&name));
	fprintf(out,
		"'><text class='index' x='20' y='%.0f'>page %zu: %.3f to %.3f us</text></a>"
		"<text x='330' y='%.0f'>%zu row%s, %zu packet%s</text>",
		y, number, since_us(picture, page->begin_ns), since_us(picture, page->end_ns), y,
		page->rows, page->rows == 1 ? "" : "s", page->packets,
		page->packets == 1 ? "" : "s");
	if (page->wrong)
		fprintf(out, "<text class='wrong' x='540' y='%.0f'>%zu in red</text>", y,
			page->wrong);
	fputc('\n', out);
	text_free(&name);
}

static bool write_index(const struct picture *picture, const struct pages *pages, const char *path,
			struct text *error)
{
	const char *title = svg_title(picture);
	double width = svg_title_width(title);
	FILE *out = create_file(path, error);
	size_t i;

	if (!out)
		return false;
	svg_begin(out, width > INDEX_WIDTH ? width : INDEX_WIDTH,
		  90.0 + INDEX_LINE * (double)(pages->count + 1));
	fputs("<text class='title' x='14' y='22'>", out);
	xml_escape(out, title, strlen(title));
	fprintf(out, "</text><text class='small' x='14' y='42'>%zu pages</text>\n", pages->count);
	for (i = 0; i < pages->count; i++)
		put_entry(out, picture, &pages->page[i], path, i + 1);
	if (pages->cut)
		fprintf(out,
			"<text class='wrong' x='20' y='%.0f'>later rows are left out: choose "
			"a part with --from, --until or --ep</text>\n",
			56.0 + INDEX_LINE * (double)(pages->count + 1));
	fputs("</svg>\n", out);
	return finish_file(out, path, error);
}

static bool write_pages(struct picture *picture, const struct pages *pages, const char *path,
			struct text *error)
{
	uint64_t begin = picture->begin_ns, end = picture->end_ns;
	bool good = true;
	size_t i;

	for (i = 0; i < pages->count && good; i++) {
		struct text name = { 0 };

		page_count(&pages->page[i], picture);
		page_name(path, i + 1, &name);
		picture->begin_ns = pages->page[i].begin_ns;
		picture->end_ns = pages->page[i].end_ns;
		good = write_page(picture, text_of(&name), error);
		text_free(&name);
	}
	picture->begin_ns = begin;
	picture->end_ns = end;
	return good && write_index(picture, pages, path, error);
}

bool svg_write(struct picture *picture, const char *path, struct text *error)
{
	struct pages pages = { NULL, 0, false };
	bool good;

	pages_split(&pages, picture);
	/* There is nowhere to put pages beside the standard output or a device. */
	if (pages.count > 1 && strcmp(path, "-") != 0 && strncmp(path, "/dev/", 5) != 0)
		good = write_pages(picture, &pages, path, error);
	else
		good = write_page(picture, path, error);
	free(pages.page);
	return good;
}
