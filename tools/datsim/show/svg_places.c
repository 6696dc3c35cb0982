/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds places for the labels of packets: on their arrows, where they cover no other label. */
#include "svg.h"

#include <stdlib.h>

#define ROW   12.0 /* height of a label */
#define APART 4.0

struct covered {
	double x1, x2, y;
	uint32_t next; /* index + 1 of the next one in its row */
};

void places_make(struct places *places, double bottom)
{
	places->row_count = (size_t)(bottom > 0 ? bottom / ROW : 0) + 3;
	places->rows = mem_zero(places->row_count, sizeof(*places->rows));
}

void places_free(struct places *places)
{
	free(places->covered);
	free(places->rows);
}

static size_t row_of(const struct places *places, double y)
{
	size_t row = y > 0 ? (size_t)(y / ROW) + 1 : 0;

	return row + 1 < places->row_count ? row : places->row_count - 2;
}

void places_take(struct places *places, double x1, double x2, double y)
{
	uint32_t *row = &places->rows[row_of(places, y)];

	if ((places->count & (places->count - 1)) == 0)
		places->covered =
			mem_grow(places->covered, (places->count ? 2 * places->count : 1) *
							  sizeof(*places->covered));
	places->covered[places->count] = (struct covered){ x1, x2, y, *row };
	*row = (uint32_t)++places->count;
}

/* The width of a place that is covered already. */
static double covered_width(const struct places *places, double x1, double x2, double y)
{
	size_t row = row_of(places, y), i;
	double sum = 0, from, to;
	uint32_t n;

	for (i = row ? row - 1 : 0; i <= row + 1 && i < places->row_count; i++) {
		for (n = places->rows[i]; n; n = places->covered[n - 1].next) {
			const struct covered *other = &places->covered[n - 1];

			from = other->x1 > x1 ? other->x1 : x1;
			to = other->x2 < x2 ? other->x2 : x2;
			if (to > from - APART && other->y < y + ROW - 2.0 &&
			    other->y > y - ROW + 2.0)
				sum += to - from + APART;
		}
	}
	return sum;
}

/* Keep the place in *best and at if it is better than the best so far. */
static void try_place(const struct places *places, double x, double y, double width, double *best,
		      double at[2])
{
	double now = *best == 0 ? 0 : covered_width(places, x - width / 2, x + width / 2, y);

	if (*best >= 0 && now >= *best)
		return;
	*best = now;
	at[0] = x;
	at[1] = y;
}

void places_on(struct places *places, const double from[2], const double to[2], double width,
	       double at[2])
{
	/* Tried first near the end: arrows with a common start are apart there. */
	static const double fractions[] = {
		0.66, 0.5, 0.8, 0.36, 0.22, 0.58, 0.88, 0.3, 0.73, 0.43
	};
	double best = -1;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fractions); i++)
		try_place(places, from[0] + (to[0] - from[0]) * fractions[i],
			  from[1] + (to[1] - from[1]) * fractions[i], width, &best, at);
	places_take(places, at[0] - width / 2, at[0] + width / 2, at[1]);
}

void places_beside(struct places *places, const double point[2], double width, double at[2])
{
	static const double down[] = { 18.0, -7.0, 30.0, -19.0 };
	double best = -1;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(down); i++)
		try_place(places, point[0], point[1] + down[i], width, &best, at);
	places_take(places, at[0] - width / 2, at[0] + width / 2, at[1]);
}
