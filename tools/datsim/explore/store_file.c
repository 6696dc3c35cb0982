/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a store: read and written as a whole, never outside of its folder. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store.h"

/* A name of ours: no folder, nothing hidden. */
static bool is_plain(const char *name)
{
	return name[0] != '.' && name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
						   "0123456789-.")] == '\0';
}

static void say(const struct store *store, const char *name, const char *doing)
{
	fprintf(stderr, "datsim: cannot %s %s/%s: %s\n", doing, store->dir, name, strerror(errno));
}

static bool write_all(int fd, const struct text *content)
{
	size_t at = 0;
	ssize_t n;

	while (at < content->length) {
		n = write(fd, content->s + at, content->length - at);
		if (n < 0 && errno != EINTR)
			return false;
		at += n > 0 ? (size_t)n : 0;
	}
	/* A rename must not come to the disk before the bytes do. */
	return fsync(fd) == 0;
}

/* The name holds host and process, because processes of several machines may share the folder. */
static int open_new(const struct store *store, char *name, size_t size)
{
	char host[64] = "";

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, "/")] = '\0';
	snprintf(name, size, ".new-%s-%d", host, (int)getpid());
	unlinkat(store->fd, name, 0);
	return openat(store->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

bool store_write(const struct store *store, const char *name, const struct text *content)
{
	char fresh[128];
	int fd = open_new(store, fresh, sizeof(fresh));

	if (fd < 0) {
		say(store, name, "write");
		return false;
	}
	if (!write_all(fd, content)) {
		say(store, name, "write");
		close(fd);
		unlinkat(store->fd, fresh, 0);
		return false;
	}
	close(fd);
	if (renameat(store->fd, fresh, store->fd, name)) {
		say(store, name, "write");
		unlinkat(store->fd, fresh, 0);
		return false;
	}
	return true;
}

static bool cannot_read(const struct store *store, const char *name, const char *why,
			struct text *error)
{
	text_add(error, "datsim: cannot read %s/", store->dir);
	text_printable(error, name, strlen(name));
	text_add(error, ": %s\n", why);
	return false;
}

bool store_read(const struct store *store, const char *name, struct text *content,
		struct text *error)
{
	char block[16384];
	struct stat st;
	ssize_t n;
	bool good;
	/* O_NONBLOCK: a pipe in place of the file must not hang the tool. */
	int fd = openat(store->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return false;
	if (fd < 0)
		return cannot_read(store, name,
				   errno == ELOOP ? "expected a file, found a symbolic link"
						  : strerror(errno),
				   error);
	good = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	while (good && content->length <= STORE_FILE_MOST &&
	       (n = read(fd, block, sizeof(block))) != 0) {
		if (n < 0 && errno != EINTR)
			good = false;
		else if (n > 0)
			text_append(content, block, (size_t)n);
	}
	close(fd);
	if (!good)
		return cannot_read(store, name, "expected a regular file", error);
	if (content->length > STORE_FILE_MOST)
		return cannot_read(store, name, "it is longer than any file of a store", error);
	if (content->length && memchr(content->s, '\0', content->length))
		return cannot_read(store, name, "expected text, found a zero byte", error);
	return true;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names that end so, sorted. False: stderr says why. */
static bool list_names(const struct store *store, const char *end, char ***names, size_t *count)
{
	int fd = openat(store->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	size_t room = 0, m = strlen(end), n;
	struct dirent *found;

	*names = NULL;
	*count = 0;
	if (!dir) {
		say(store, "", "list");
		if (fd >= 0)
			close(fd);
		return false;
	}
	while ((found = readdir(dir))) {
		n = strlen(found->d_name);
		if (n <= m || strcmp(found->d_name + n - m, end) != 0 || found->d_name[0] == '.')
			continue;
		if (*count == room) {
			room = room ? 2 * room : 64;
			*names = mem_grow(*names, room * sizeof(**names));
		}
		(*names)[(*count)++] = strdup(found->d_name);
	}
	closedir(dir);
	if (*count)
		qsort(*names, *count, sizeof(**names), by_name);
	return true;
}

bool store_each(const struct store *store, const char *end,
		bool (*take)(struct store *store, const char *name, void *ctx), void *ctx)
{
	struct text error = { 0 };
	char **names;
	size_t count, i;
	bool good = list_names(store, end, &names, &count);

	for (i = 0; i < count; i++) {
		if (good && !is_plain(names[i])) {
			good = cannot_read(store, names[i],
					   "no file of a store has such a name: move it away",
					   &error);
			fputs(text_of(&error), stderr);
		}
		good = good && take((struct store *)store, names[i], ctx);
		free(names[i]);
	}
	free(names);
	text_free(&error);
	return good;
}
