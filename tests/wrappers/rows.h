/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.h - the words of a table of calls; see fuzz.h. */
#ifndef TESTS_WRAPPERS_ROWS_H
#define TESTS_WRAPPERS_ROWS_H

#include "fuzz.h"

/* ---- an argument: its kind, and what that makes its proper value of ---- */

#define GOOD(kind, value)                       \
	{                                       \
		&fuzz_##kind, (uint64_t)(value) \
	}
#define ARG(kind)               \
	{                       \
		&fuzz_##kind, 0 \
	}
#define OUT(type) GOOD(out, sizeof(type))

/* ---- how a call answers ---- */

#define NOTHING FUZZ_NOTHING
#define ANY     FUZZ_ANY
#define TEXT    FUZZ_TEXT
#define ERRNO   FUZZ_ERRNO
#define MINUS   FUZZ_MINUS
#define SIZE    FUZZ_SIZE
#define POINTER FUZZ_POINTER

/* ---- a call ---- */

#define ROW(call, how, ...)                                              \
	{                                                                \
		.name = (call), .answer = (how), .args = { __VA_ARGS__ } \
	}
/* Refused even with proper values */
#define REFUSED(call, how, ...)                                                           \
	{                                                                                 \
		.name = (call), .answer = (how), .args = { __VA_ARGS__ }, .refused = true \
	}
#define CHANGES(call, how, ...)                                                            \
	{                                                                                  \
		.name = (call), .answer = (how), .args = { __VA_ARGS__ }, .refused = true, \
		.changes = true                                                            \
	}
/* What it made or destroyed goes by `by`. */
#define UNDONE(call, how, by, ...)                                                     \
	{                                                                              \
		.name = (call), .answer = (how), .args = { __VA_ARGS__ }, .undo = (by) \
	}
/* One that no library exports by its name */
#define OP(op, how, function, by, ...)                                                \
	{                                                                             \
		.name = (op), .answer = (how), .args = { __VA_ARGS__ }, .undo = (by), \
		.call = (function)                                                    \
	}

#endif /* TESTS_WRAPPERS_ROWS_H */
