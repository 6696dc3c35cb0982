/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat_conf.h - dat.conf, the file that names adapters and the provider libraries that serve them.
 *
 * The file is /etc/dat.conf, or what DAT_OVERRIDE names. One adapter a line, eight fields with blanks
 * between them:
 *
 *	name          what dat_ia_open is given
 *	API version   u1.2; lines of another major version, or of the kernel's API (k1.2), serve nobody here
 *	              threadsafe | nonthreadsafe
 *	              default | nondefault: among lines of one name that would do, default ones come first
 *	library       as dlopen takes it; "" or libdat.so(.N) means this library, see below
 *	version       of the provider: company.major.minor, or major.minor
 *	instance data a string for the provider
 *	platform      a string that nobody reads; may be left out
 *
 * A field in double quotes may hold blanks and #, and \" and \\ for the two characters that could not
 * stand there otherwise. # outside quotes starts a comment. A line that is none of this is reported,
 * with what was expected there and what was found, and skipped.
 *
 * Where the library is this one, the instance data is an adapter's name, so that whatever name a
 * program has built in opens that adapter (ruling G10):
 *
 *	OpenIB-cma u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 "emu0" ""
 */
#ifndef LIB_DAT_CONF_H
#define LIB_DAT_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include <dat/udat.h>

struct dat_conf_entry {
	TAILQ_ENTRY(dat_conf_entry) link;
	unsigned int line;
	DAT_PROVIDER_INFO info; /* name, API version, thread safety */
	bool kernel;            /* seen while the line is parsed only */
	bool is_default;
	bool ours; /* the library is this one: instance_data names the adapter */
	char *library;
	char *instance_data;
};

TAILQ_HEAD(dat_conf_entries, dat_conf_entry);

struct dat_conf {
	char *path; /* NULL: there is no file, which is no error where DAT_OVERRIDE is not set */
	struct dat_conf_entries entries; /* in the file's order; none of the kernel's */
	int lines;                       /* that name an adapter, entries or not */
	int skipped;                     /* that make no sense */
};

/*
 * What a text says; the text is written to, and so is the byte behind it. NULL: no memory. Complaints
 * go to stderr.
 */
struct dat_conf *dat_conf_parse(const char *path, char *text, size_t length);
void dat_conf_free(struct dat_conf *conf);

/*
 * What the file says now; it is read when first asked for, and again when it is another one or was
 * written to. It stays until the next call; the caller (under loader_lock) sees to it that there is none
 * at the same time. NULL: DAT_OVERRIDE names what cannot be read, or there is no memory (errno is ENOMEM
 * then); said on stderr.
 */
const struct dat_conf *dat_conf_now(void);

#endif /* LIB_DAT_CONF_H */
