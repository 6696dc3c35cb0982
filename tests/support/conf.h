/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tests/support/conf.h - dat.conf files of a test, and what the library says about them on stderr.
 */
#ifndef TESTS_SUPPORT_CONF_H
#define TESTS_SUPPORT_CONF_H

#include <stddef.h>

#include "tests/support/support.h"

/* Writes these bytes to a new file and makes it the dat.conf from now on. */
void conf_write(const void *bytes, size_t length);
void conf_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The path of that file */
const char *conf_path(void);
/* Sets DAT_OVERRIDE to this path. */
void conf_name(const char *path);
/* Removes DAT_OVERRIDE again: there is no dat.conf. */
void conf_clear(void);

/*
 * Collects stderr until said_stop, which returns the text; it is valid until the next said_start.
 */
void said_start(void);
const char *said_stop(void);

/*
 * Opens and closes the adapter. Returns the DAT_RETURN of the open; the buffer of said_stop holds
 * what the library said.
 */
DAT_RETURN open_and_close(const char *name, const char **said);

#define ck_assert_said(said, part)                                                       \
	ck_assert_msg(strstr((said), (part)) != NULL, "expected \"%s\", said: %s", part, \
		      (said)[0] ? (said) : "nothing")

#endif /* TESTS_SUPPORT_CONF_H */
