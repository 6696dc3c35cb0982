/* SPDX-License-Identifier: BSD-3-Clause */
#include "xml.h"

#include <string.h>

/* Bytes of the UTF-8 character at s, 0 if it is none that XML may hold. */
static size_t character(const unsigned char *s, size_t left)
{
	size_t n = s[0] < 0x80   ? 1
		   : s[0] < 0xc2 ? 0
		   : s[0] < 0xe0 ? 2
		   : s[0] < 0xf0 ? 3
		   : s[0] < 0xf5 ? 4
				 : 0;
	size_t i;

	if (!n || n > left || (s[0] < 0x20 && s[0] != '\n') || s[0] == 0x7f)
		return 0;
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
		       (s[0] == 0xef && s[1] == 0xbf && s[2] > 0xbd)))
		return 0;
	if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)))
		return 0;
	return n;
}

void xml_escape(FILE *out, const char *s, size_t length)
{
	size_t i, n;

	for (i = 0; i < length; i += n) {
		n = character((const unsigned char *)s + i, length - i);
		if (!n) {
			fputc('?', out);
			n = 1;
		} else if (strchr("&<>'\"", s[i])) {
			fprintf(out, "&#%d;", s[i]);
		} else {
			fwrite(s + i, 1, n, out);
		}
	}
}
