/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_name.c - names of temporary files of a program in lockstep: of the seed and the process id
 * that the program sees. One that is in use, for example by a file that an earlier run has left, is
 * passed over, so the names are the same in each run that finds the same files.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "turns.h"

#define LETTERS    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define PLACE      "XXXXXX" /* of the letters in a template */
#define PLACE_SIZE (sizeof(PLACE) - 1)
#define TRIES_MOST 100000 /* libc gives up after 62^3 */
#define FOLDER     (-1)

/* NULL: it is no template. */
static char *place_in(char *template, int suffix)
{
	size_t length = strlen(template);
	char *place;

	if (suffix < 0 || length < PLACE_SIZE + (size_t)suffix)
		return NULL;
	place = template + length - (size_t)suffix - PLACE_SIZE;
	return memcmp(place, PLACE, PLACE_SIZE) == 0 ? place : NULL;
}

static void fill_place(char *place)
{
	uint64_t word = turns_random_name();

	for (size_t i = 0; i < PLACE_SIZE; i++, word /= sizeof(LETTERS) - 1)
		place[i] = LETTERS[word % (sizeof(LETTERS) - 1)];
}

/* A descriptor, or 0 of a folder; -1: errno says why. */
static int make_named(char *template, int suffix, int flags)
{
	char *place = place_in(template, suffix);
	int made = -1;

	if (!place) {
		errno = EINVAL;
		return -1;
	}
	errno = EEXIST;
	for (int i = 0; i < TRIES_MOST && made < 0 && errno == EEXIST; i++) {
		fill_place(place);
		made = flags == FOLDER
			       ? mkdir(template, S_IRWXU)
			       : REAL(openat)(AT_FDCWD, template,
					      (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL,
					      S_IRUSR | S_IWUSR);
	}
	if (made < 0)
		memcpy(place, PLACE, PLACE_SIZE);
	return made;
}

/* With the parameters of the call, which are `args` of libc's function. */
#define DEFINE_MAKE(name, suffix, flags, params, args)                                  \
	int turns_##name params __asm__(#name);                                         \
	int turns_##name params                                                         \
	{                                                                               \
		return PROGRAM ? make_named(template, suffix, flags) : REAL(name) args; \
	}

DEFINE_MAKE(mkstemp, 0, 0, (char *template), (template))
DEFINE_MAKE(mkstemp64, 0, O_LARGEFILE, (char *template), (template))
DEFINE_MAKE(mkostemp, 0, flags, (char *template, int flags), (template, flags))
DEFINE_MAKE(mkostemp64, 0, flags | O_LARGEFILE, (char *template, int flags), (template, flags))
DEFINE_MAKE(mkstemps, length, 0, (char *template, int length), (template, length))
DEFINE_MAKE(mkstemps64, length, O_LARGEFILE, (char *template, int length), (template, length))
DEFINE_MAKE(mkostemps, length, flags, (char *template, int length, int flags),
	    (template, length, flags))
DEFINE_MAKE(mkostemps64, length, flags | O_LARGEFILE, (char *template, int length, int flags),
	    (template, length, flags))

char *turns_mkdtemp(char *template) __asm__("mkdtemp");
char *turns_mkdtemp(char *template)
{
	if (!PROGRAM)
		return REAL(mkdtemp)(template);
	return make_named(template, 0, FOLDER) ? NULL : template;
}
