/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tests/support/conf.h - dat.conf files of a test, and what the library says about them on stderr.
 */
#ifndef TESTS_SUPPORT_CONF_H
#define TESTS_SUPPORT_CONF_H

#include <stddef.h>

#include "tests/support/support.h"

/* A file of these bytes is the dat.conf from now on. Each call makes a new one. */
void conf_write(const void *bytes, size_t length);
void conf_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The path of it. */
const char *conf_path(void);
/* DAT_OVERRIDE names this from now on. */
void conf_name(const char *path);
/* Back to no file. */
void conf_clear(void);

/* Collects stderr until said_stop, which gives the text; it is valid until the next said_start. */
void said_start(void);
const char *said_stop(void);

/* Opens and closes the adapter; the DAT_RETURN of the open, and what was said in said_stop's buffer. */
DAT_RETURN open_and_close(const char *name, const char **said);

#define ck_assert_said(said, part)                                                       \
	ck_assert_msg(strstr((said), (part)) != NULL, "expected \"%s\", said: %s", part, \
		      (said)[0] ? (said) : "nothing")

#endif /* TESTS_SUPPORT_CONF_H */
