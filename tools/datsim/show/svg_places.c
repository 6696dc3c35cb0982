/* SPDX-License-Identifier: BSD-3-Clause */
/* Room for the labels of packets: each on its arrow, where it covers no other words. */
#include "svg.h"

#include <stdlib.h>

#define ROW   12.0 /* height of what stands there */
#define APART 4.0

struct taken {
	double x1, x2, y;
	uint32_t next; /* in its row, + 1 */
};

void places_make(struct places *places, double bottom)
{
	places->row_count = (size_t)(bottom > 0 ? bottom / ROW : 0) + 3;
	places->rows = mem_zero(places->row_count, sizeof(*places->rows));
}

void places_free(struct places *places)
{
	free(places->taken);
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
		places->taken = mem_grow(places->taken, (places->count ? 2 * places->count : 1) *
								sizeof(*places->taken));
	places->taken[places->count] = (struct taken){ x1, x2, y, *row };
	*row = (uint32_t)++places->count;
}

/* How much of it is covered. */
static double covered(const struct places *places, double x1, double x2, double y)
{
	size_t row = row_of(places, y), i;
	double sum = 0, from, to;
	uint32_t n;

	for (i = row ? row - 1 : 0; i <= row + 1 && i < places->row_count; i++) {
		for (n = places->rows[i]; n; n = places->taken[n - 1].next) {
			const struct taken *taken = &places->taken[n - 1];

			from = taken->x1 > x1 ? taken->x1 : x1;
			to = taken->x2 < x2 ? taken->x2 : x2;
			if (to > from - APART && taken->y < y + ROW - 2.0 &&
			    taken->y > y - ROW + 2.0)
				sum += to - from + APART;
		}
	}
	return sum;
}

/* The better of it and what was best; at is where that is. */
static void try(const struct places *places, double x, double y, double width, double *best,
		double at[2])
{
	double now = *best == 0 ? 0 : covered(places, x - width / 2, x + width / 2, y);

	if (*best >= 0 && now >= *best)
		return;
	*best = now;
	at[0] = x;
	at[1] = y;
}

void places_on(struct places *places, const double from[2], const double to[2], double width,
	       double at[2])
{
	/* Arrows that began together lie apart near their ends. */
	static const double turns[] = { 0.66, 0.5, 0.8, 0.36, 0.22, 0.58, 0.88, 0.3, 0.73, 0.43 };
	double best = -1;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(turns); i++)
		try(places, from[0] + (to[0] - from[0]) * turns[i],
		    from[1] + (to[1] - from[1]) * turns[i], width, &best, at);
	places_take(places, at[0] - width / 2, at[0] + width / 2, at[1]);
}

void places_beside(struct places *places, const double point[2], double width, double at[2])
{
	static const double down[] = { 18.0, -7.0, 30.0, -19.0 };
	double best = -1;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(down); i++)
		try(places, point[0], point[1] + down[i], width, &best, at);
	places_take(places, at[0] - width / 2, at[0] + width / 2, at[1]);
}
