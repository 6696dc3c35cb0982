/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tests/support/runtime.h - a folder of the test's own for shared fabrics, as XDG_RUNTIME_DIR, and
 * the kinds of fabric that a program can have by its environment.
 */
#ifndef TESTS_SUPPORT_RUNTIME_H
#define TESTS_SUPPORT_RUNTIME_H

/* Make it, as /tmp/libdat-NAME-XXXXXX. */
void runtime_begin(const char *name);
/* Its path, until it is removed */
const char *runtime_folder(void);
/* Remove it: it has had a fabric, which is gone, and nothing else is there. */
void runtime_end(void);
/* Remove it, whether or not a fabric has used it, and even if it was never made. */
void runtime_end_any(void);
/* Remove it with all that it contains. */
void runtime_remove(void);

/* ---- kinds of fabric ---- */

enum runtime_kind {
	RUNTIME_PRIVATE,
	RUNTIME_TRACED,
	RUNTIME_SHARED,
	RUNTIME_LOCKSTEP,
	RUNTIME_KINDS
};

/* The next fabric of this process is of this kind. */
void runtime_choose(enum runtime_kind kind);
const char *runtime_name(enum runtime_kind kind);

#endif /* TESTS_SUPPORT_RUNTIME_H */
