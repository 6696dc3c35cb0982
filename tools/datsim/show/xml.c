/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Escapes text for XML (xml.h).
 */
#include "xml.h"

#include <string.h>

#include "tools/datsim/util.h"

void xml_escape(FILE *out, const char *s, size_t length)
{
	size_t i, n;

	for (i = 0; i < length; i += n) {
		n = utf8_length(s + i, length - i);
		if (n == 3 && !memcmp(s + i, "\xef\xbf", 2) && (unsigned char)s[i + 2] > 0xbd)
			n = 0; /* U+FFFE and U+FFFF */
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
