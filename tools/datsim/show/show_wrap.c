/* SPDX-License-Identifier: BSD-3-Clause */
/* Folds texts into the columns of a timeline (show_rows.h). */
#include "show_rows.h"

#include <string.h>

/* Does a character begin at s? The further bytes of a UTF-8 character do not count. */
static bool begins_character(const char *s)
{
	return ((unsigned char)*s & 0xc0) != 0x80;
}

int wrap_columns(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += begins_character(s);
	return n;
}

size_t wrap_piece(const char *s, int width, const char **rest)
{
	size_t i, end = 0, blank = 0, mark = 0;
	int n = 0;

	for (i = 0; s[i]; i++) {
		n += begins_character(s + i);
		if (n > width)
			break;
		if (s[i] == ' ' && i)
			blank = i;
		else if (strchr("(,.=_/>[", s[i]) && n > 2)
			mark = i + 1;
		end = i + 1;
	}
	*rest = s + end;
	if (!s[i])
		return end;
	if (s[i] == ' ' && i)
		blank = i;
	if (blank) {
		*rest = s + blank + 1;
		return blank;
	}
	if (mark)
		end = mark;
	else
		end = i ? i : 1;
	*rest = s + end;
	return end;
}

int wrap_lines(int columns, int width)
{
	int rest = width > 4 * WRAP_INDENT ? width - WRAP_INDENT : width;

	if (columns <= width)
		return 1;
	return 1 + (columns - width + rest - 1) / (rest > 0 ? rest : 1);
}

int wrap_least(int width, int columns, int usual)
{
	int part = columns ? width / columns - 1 : usual;

	return part < 1 ? 1 : part < usual ? part : usual;
}
