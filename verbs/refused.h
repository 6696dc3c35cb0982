/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * refused.h - names that exist and are not implemented, for a program that imports a name that is
 * missing would not start. Each answers as its call reports an error, with EOPNOTSUPP. None looks
 * at an argument, so none is declared, and no header of verbs is included.
 */
#ifndef VERBS_REFUSED_H
#define VERBS_REFUSED_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#define INT(name)                  \
	int name(void);            \
	int name(void)             \
	{                          \
		return EOPNOTSUPP; \
	}

/* An int or a ssize_t. */
#define MINUS(name)                 \
	ptrdiff_t name(void);       \
	ptrdiff_t name(void)        \
	{                           \
		errno = EOPNOTSUPP; \
		return -1;          \
	}

#define NO(name)              \
	bool name(void);      \
	bool name(void)       \
	{                     \
		return false; \
	}

#define NULL_PTR(name)              \
	void *name(void);           \
	void *name(void)            \
	{                           \
		errno = EOPNOTSUPP; \
		return NULL;        \
	}

#define NOTHING(name)    \
	void name(void); \
	void name(void)  \
	{                \
	}

/* The same for a name that only old programs use. */
#define OLD(kind, name, version)                                      \
	__asm__(".symver refused_" #name "_old, " #name "@" version); \
	kind(refused_##name##_old)

/* A name that has an old form as well. */
#define NEW(kind, name, version)                            \
	__asm__(".symver " #name ", " #name "@@@" version); \
	kind(name)

#endif /* VERBS_REFUSED_H */
