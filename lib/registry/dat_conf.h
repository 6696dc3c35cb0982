/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat_conf.h - dat.conf, the file that names adapters and the provider libraries that serve them.
 *
 * The file is /etc/dat.conf or the one that DAT_OVERRIDE names. Each line describes one adapter in
 * eight fields, separated by blanks:
 *
 *   name          the name given to dat_ia_open
 *   API version   u1.2; lines of another major version or of the kernel API (k1.2) are ignored
 *                 threadsafe | nonthreadsafe
 *                 default | nondefault: of several lines that match, a default one is preferred
 *   library       an argument of dlopen; "" or libdat.so(.N) means this library, see below
 *   version       of the provider: company.major.minor, or major.minor
 *   instance data a string that is passed to the provider
 *   platform      a string that is ignored; may be left out
 *
 * A field in double quotes may contain blanks and #; \" and \\ stand for a quote and a backslash.
 * Outside quotes, # starts a comment. A malformed line is reported (the field, what was expected,
 * what was found) and skipped.
 *
 * Where the library is this one, the instance data is the name of an adapter. So a program with a
 * hard-coded name opens that adapter (ruling G10):
 *
 *   OpenIB-cma u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 "emu0" ""
 */
#ifndef LIB_REGISTRY_DAT_CONF_H
#define LIB_REGISTRY_DAT_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include <dat/udat.h>

struct dat_conf_entry {
	TAILQ_ENTRY(dat_conf_entry) link;
	unsigned int line;
	DAT_PROVIDER_INFO info; /* name, API version, thread safety */
	bool kernel;            /* only while the line is parsed */
	bool is_default;
	bool ours; /* the library is this one: instance_data names the adapter */
	char *library;
	char *instance_data;
};

TAILQ_HEAD(dat_conf_entries, dat_conf_entry);

struct dat_conf {
	char *path; /* NULL: no file, which is an error only if DAT_OVERRIDE is set */
	struct dat_conf_entries entries; /* in the file's order, without the kernel's */
	int lines;                       /* well-formed lines, the kernel's included */
	int skipped;                     /* malformed lines */
};

/*
 * Parse the text of a dat.conf. The text, and the byte after it, is overwritten. NULL: out of
 * memory. Errors in the text are reported on stderr.
 */
struct dat_conf *dat_conf_parse(const char *path, char *text, size_t length);
void dat_conf_free(struct dat_conf *conf);

/*
 * The current contents of the dat.conf. The file is read at the first call, and again when its
 * name, inode, size or times changed. The result is valid until the next call; callers hold
 * loader_lock. NULL, reported on stderr: the file that DAT_OVERRIDE names is unreadable, or memory
 * ran out (errno is ENOMEM).
 */
const struct dat_conf *dat_conf_now(void);

#endif /* LIB_REGISTRY_DAT_CONF_H */
