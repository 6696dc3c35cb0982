/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and writing the files that users name, temporary folders, and the standard streams. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "options.h"
#include "tools/datsim/script/script.h"

bool read_whole(const char *path, size_t limit, struct text *content, struct text *error)
{
	char block[16384];
	struct stat st;
	ssize_t n;
	int fd;

	/* O_NONBLOCK: opening a pipe without a writer must not hang the tool. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		goto bad;
	if (fstat(fd, &st))
		goto bad;
	if (!S_ISREG(st.st_mode)) {
		text_add(error, "%s: not a regular file\n", path);
		close(fd);
		return false;
	}
	if ((size_t)st.st_size > limit)
		goto too_long;
	while ((n = read(fd, block, sizeof(block))) > 0 && content->length <= limit)
		text_append(content, block, (size_t)n);
	if (n < 0)
		goto bad;
	if (content->length > limit)
		goto too_long;
	close(fd);
	return true;
too_long:
	text_add(error, "%s: expected at most %zu bytes\n", path, limit);
	close(fd);
	return false;
bad:
	text_add(error, "%s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return false;
}

/* As in `datsim explore ./server`: its bytes would be a hundred mistakes of a script. */
static bool is_program(const char *path)
{
	static const char elf[] = { 0x7f, 'E', 'L', 'F' };
	char head[sizeof(elf)];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool program;

	if (fd < 0)
		return false;
	program = pread(fd, head, sizeof(head), 0) == sizeof(head) &&
		  !memcmp(head, elf, sizeof(head));
	close(fd);
	return program;
}

bool read_script(const char *path, struct text *content, struct text *error)
{
	static const char mark[] = "\xef\xbb\xbf";
	size_t n = sizeof(mark) - 1, line = 1;
	const char *nul, *at;

	if (!*path) {
		text_add(error, "the name of the script is empty\n");
		return false;
	}
	if (is_program(path)) {
		text_add(error,
			 "%s: expected a script, found a program: `datsim run -- %s` runs it, "
			 "`datsim explore -- %s` explores it\n",
			 path, path, path);
		return false;
	}
	if (!read_whole(path, SCRIPT_BYTES_MAX, content, error))
		return false;
	nul = memchr(text_of(content), '\0', content->length);
	if (nul) {
		for (at = text_of(content); at < nul; at++)
			line += *at == '\n';
		text_add(error, "%s:%zu: expected a script, found a NUL byte: it is not text\n",
			 path, line);
		return false;
	}
	if (content->length >= n && !memcmp(content->s, mark, n)) {
		memmove(content->s, content->s + n, content->length - n);
		text_cut(content, content->length - n);
	}
	return true;
}

/* ---- writing ---- */

static bool cannot_write(const char *path, int err, struct text *error)
{
	text_add(error, "datsim: cannot write %s: %s\n", path, strerror(err));
	return false;
}

FILE *create_file(const char *path, struct text *error)
{
	FILE *file = fopen(path, "we");

	if (!file)
		cannot_write(path, errno, error);
	return file;
}

FILE *create_output(const char *path, struct text *error)
{
	return !strcmp(path, "-") ? stdout : create_file(path, error);
}

bool output_is_terminal(const char *path)
{
	return path && !strcmp(path, "-") && isatty(STDOUT_FILENO);
}

bool finish_file(FILE *file, const char *path, struct text *error)
{
	int err = 0;

	/*
	 * A stream remembers that an earlier write failed, but not with which error. One byte more
	 * fails with the same error, as a rule: the file is lost in any case.
	 */
	if (ferror(file)) {
		err = EIO;
		fputc('\n', file);
	}
	if (fflush(file))
		err = errno;
	if (file != stdout && fclose(file) && !err)
		err = errno;
	return !err || cannot_write(path, err, error);
}

bool write_whole(const char *path, const char *bytes, size_t length, struct text *error)
{
	FILE *file = create_file(path, error);

	if (!file)
		return false;
	fwrite(bytes, 1, length, file);
	return finish_file(file, path, error);
}

bool write_whole_or_say(const char *path, const struct text *text)
{
	struct text error = { 0 };
	bool good = write_whole(path, text_of(text), text->length, &error);

	fflush(stdout);
	fputs(text_of(&error), stderr);
	text_free(&error);
	return good;
}

bool clear_file(const char *path, struct text *error)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
	struct stat st;

	/* ENXIO: a pipe without a reader yet can be written later. */
	if (fd < 0 && errno != ENXIO)
		return cannot_write(path, errno, error);
	if (fd >= 0)
		close(fd);
	/* Only a regular file is removed, not a device or a link. */
	if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
		unlink(path);
	return true;
}

/* Names of files that do not exist yet: the same name in the same folder? */
static bool same_new_file(const char *a, const char *b)
{
	const char *last_a = strrchr(a, '/'), *last_b = strrchr(b, '/');
	struct text in_a = { 0 }, in_b = { 0 };
	struct stat x, y;
	bool same;

	if (strcmp(last_a ? last_a + 1 : a, last_b ? last_b + 1 : b) != 0)
		return false;
	text_append(&in_a, a, last_a ? (size_t)(last_a + 1 - a) : 0);
	text_append(&in_b, b, last_b ? (size_t)(last_b + 1 - b) : 0);
	same = stat(in_a.length ? in_a.s : ".", &x) == 0 &&
	       stat(in_b.length ? in_b.s : ".", &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
	text_free(&in_a);
	text_free(&in_b);
	return same;
}

/* Only a regular file loses something: several outputs may go to one pipe, or to /dev/null. */
static bool same_file(const char *a, const char *b)
{
	struct stat x, y;
	bool no_a = stat(a, &x) != 0, no_b = stat(b, &y) != 0;

	if (no_a || no_b)
		return no_a && no_b && same_new_file(a, b);
	return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool files_differ(const char *command, const struct named_file *files)
{
	const struct named_file *file, *other;

	for (file = files; file->what; file++) {
		for (other = files; other < file && file->written && file->path; other++) {
			if (!other->path || !same_file(file->path, other->path))
				continue;
			usage_error(command,
				    "%s %s: expected a file of its own, found that of %s: name "
				    "another one",
				    file->what, file->path, other->what);
			return false;
		}
	}
	return true;
}

bool scratch_folder(struct text *folder, struct text *error)
{
	const char *tmp = getenv("TMPDIR");

	if (!tmp || !*tmp)
		tmp = "/tmp";
	folder->length = 0;
	text_add(folder, "%s/datsim-XXXXXX", tmp);
	if (mkdtemp(folder->s))
		return true;
	text_add(error, "datsim: cannot make a folder in %s%s: %s\n", tmp,
		 getenv("TMPDIR") ? " (TMPDIR)" : "", strerror(errno));
	folder->length = 0;
	return false;
}

/* Is it in memory, and has it that much space? The /dev/shm of a container is often small. */
static bool has_room(const char *folder, uint64_t bytes)
{
	struct statfs fs;

	return statfs(folder, &fs) == 0 && fs.f_type == TMPFS_MAGIC &&
	       (uint64_t)fs.f_bavail >= bytes / (uint64_t)fs.f_bsize;
}

bool memory_folder(struct text *folder, uint64_t bytes)
{
	const char *tmp = getenv("TMPDIR");

	folder->length = 0;
	if ((tmp && *tmp) || !has_room("/dev/shm", bytes))
		return false;
	text_add(folder, "/dev/shm/datsim-traces-XXXXXX");
	if (mkdtemp(folder->s))
		return true;
	folder->length = 0;
	return false;
}

/* ---- standard streams ---- */

bool stderr_overwrites(void)
{
	const char *kind = getenv("TERM");

	return isatty(STDERR_FILENO) && !(kind && !strcmp(kind, "dumb"));
}

void stderr_overwrite(const char *line)
{
	struct winsize size;
	int most = (int)strlen(line);

	/* A line that the terminal folds stays there. The last column may fold it, too. */
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && most >= size.ws_col)
		most = size.ws_col - 1;
	fprintf(stderr, "\r%.*s\033[K", most, line);
}

void keep_standard_streams(void)
{
	int fd;

	/*
	 * Opened in the opposite direction, so that using the stream fails as it did when it was
	 * closed.
	 */
	for (fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", fd ? O_RDONLY : O_WRONLY);
	}
}

bool finish_stdout(void)
{
	bool failed = ferror(stdout);
	const char *why = "";

	/* The error of an earlier write is not known any more. */
	if (fflush(stdout)) {
		failed = true;
		why = strerror(errno);
	}
	if (failed)
		fprintf(stderr, "datsim: cannot write to standard output%s%s\n", *why ? ": " : "",
			why);
	return !failed;
}

int output_divert(void)
{
	int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

	if (out >= 0)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	return out;
}

void output_restore(int out)
{
	if (out < 0)
		return;
	dup2(out, STDOUT_FILENO);
	close(out);
}
