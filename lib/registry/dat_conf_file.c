/* SPDX-License-Identifier: BSD-3-Clause */
/* dat_conf_file.c - find the dat.conf, and read it again when it has changed. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dat_conf.h"
#include "host/nic_process.h"
#include "host/say.h"

#define DEFAULT_PATH "/etc/dat.conf"
#define BYTES_MAX    (16ul << 20) /* a larger file is no dat.conf */

/*
 * The identity of a file and of its contents, to notice a change. Two writes within one tick of the
 * kernel's clock, in place and of one size, look the same where it stamps files with ticks (before
 * Linux 6.13).
 */
struct file_version {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec written, changed;
};

/* The file read last. */
static struct {
	char *path;
	struct file_version version;
	struct dat_conf *conf;
} last;

static struct file_version file_version_of(const struct stat *st)
{
	struct file_version version;

	memset(&version, 0, sizeof(version)); /* compared as bytes */
	version.dev = st->st_dev;
	version.ino = st->st_ino;
	version.size = st->st_size;
	version.written = st->st_mtim;
	version.changed = st->st_ctim;
	return version;
}

/* All bytes of fd, with room for one more; NULL: errno has the reason. */
static char *read_all(int fd, size_t *length)
{
	size_t room = 4096, n = 0;
	char *text = NULL;

	for (;;) {
		char *larger = realloc(text, room + 1);
		ssize_t got;

		if (!larger)
			goto fail;
		text = larger;
		got = read(fd, text + n, room - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			goto fail;
		if (got == 0)
			break;
		n += (size_t)got;
		errno = EFBIG;
		if (n > BYTES_MAX)
			goto fail;
		if (n == room)
			room *= 2;
	}
	*length = n;
	return text;

fail:
	free(text);
	return NULL;
}

/*
 * DAT_OVERRIDE=/dev/null is the way to ask for no file. Reads of other special files may block or
 * never end.
 */
static bool is_readable_kind(int fd, const struct stat *st)
{
	char byte;

	if (S_ISREG(st->st_mode))
		return true;
	if (S_ISCHR(st->st_mode) && read(fd, &byte, 1) == 0)
		return true;
	errno = S_ISDIR(st->st_mode) ? EISDIR : ESPIPE;
	return false;
}

static struct dat_conf *read_file(const char *path, struct file_version *version)
{
	int fd = process_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0), err;
	struct dat_conf *conf = NULL;
	struct stat st;
	size_t length;
	char *text;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) < 0 || !is_readable_kind(fd, &st))
		goto close_fd;
	*version = file_version_of(&st);
	text = read_all(fd, &length);
	if (!text)
		goto close_fd;
	conf = dat_conf_parse(path, text, length);
	errno = ENOMEM;
	free(text);
close_fd:
	err = errno;
	close(fd);
	errno = err;
	return conf;
}

static struct dat_conf *no_file(void)
{
	struct dat_conf *conf = calloc(1, sizeof(*conf));

	if (conf)
		TAILQ_INIT(&conf->entries);
	return conf;
}

/* The default file may be missing; if it is unreadable, that is reported and the open goes on. */
static struct dat_conf *read_default_file(struct file_version *version)
{
	struct dat_conf *conf = read_file(DEFAULT_PATH, version);

	if (!conf && process_shortage(errno)) {
		int err = errno;

		say("%s: %s; it has to be read to open an adapter", DEFAULT_PATH, strerror(err));
		errno = err;
		return NULL;
	}
	if (!conf && errno != ENOENT && errno != ENOTDIR)
		say("%s: %s; no adapter is taken from it", DEFAULT_PATH, strerror(errno));
	return conf ? conf : no_file();
}

static bool dat_conf_keep(const char *path, const struct file_version *version,
			  struct dat_conf *conf)
{
	char *copy = strdup(path);

	if (!copy) {
		dat_conf_free(conf);
		return false;
	}
	free(last.path);
	dat_conf_free(last.conf);
	last.path = copy;
	last.version = *version;
	last.conf = conf;
	return true;
}

const struct dat_conf *dat_conf_now(void)
{
	const char *override = process_env("DAT_OVERRIDE"), *path;
	struct file_version version = { 0 };
	struct dat_conf *conf;
	struct stat st;

	path = override ? override : DEFAULT_PATH;
	memset(&version, 0, sizeof(version));
	if (stat(path, &st) == 0)
		version = file_version_of(&st);
	if (last.path && strcmp(last.path, path) == 0 &&
	    memcmp(&last.version, &version, sizeof(version)) == 0)
		return last.conf;
	conf = override ? read_file(path, &version) : read_default_file(&version);
	if (!conf && !override)
		return NULL;
	if (!conf) {
		int err = errno;

		say("DAT_OVERRIDE=%s: %s; name a dat.conf that can be read, or unset it", path,
		    err == ESPIPE ? "not a file" : strerror(err));
		errno = err;
		return NULL;
	}
	return dat_conf_keep(path, &version, conf) ? conf : NULL;
}
