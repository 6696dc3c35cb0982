/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of a shared fabric: its path, its creation without a name, its mapping.
 */
#include "shared_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/fabric/output.h"
#include "host/nic_process.h"

#define POOL_SMALLEST (16ul << 20)
#define NAME_MAX_HERE 48u
#define EVENTS_FIRST  (1ul << 20) /* bytes of the event queue */
#define NAMES_TRIED   1000u

static int report_error(const char *path, const char *what, int err)
{
	fprintf(stderr, "libdat: shared fabric %s: %s\n", path, what);
	return err;
}

/* A system call failed: -ENOMEM for lack of something, -EACCES for anything else. */
static int report_errno(const char *path, int err)
{
	fprintf(stderr, "libdat: shared fabric %s: %s%s\n", path, strerror(err),
		emu_output_hint(err));
	return process_shortage(err) || err == EFBIG ? -ENOMEM : -EACCES;
}

/* A letter or digit, followed by letters, digits and . _ - */
static bool name_is_good(const char *name)
{
	static const char good[] =
		"._-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t length = strnlen(name, NAME_MAX_HERE + 1);

	return length >= 1 && length <= NAME_MAX_HERE && !strchr("._-", name[0]) &&
	       strspn(name, good) == length;
}

static int make_folder(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) && errno != EEXIST)
		return report_errno(path, errno);
	if (lstat(path, &st))
		return report_errno(path, errno);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return report_error(
			path, "expected a folder of this user's that no other may enter", -EACCES);
	return 0;
}

static bool may_write(const char *folder)
{
	return access(folder, W_OK | X_OK) == 0;
}

int emu_file_path(const char *name, char *path, size_t size)
{
	const char *runtime = process_env("XDG_RUNTIME_DIR");
	const char *fallback = may_write("/dev/shm") ? "/dev/shm" : "/tmp";
	int err, n;

	if (!name_is_good(name)) {
		fprintf(stderr,
			"libdat: a shared fabric cannot be called \"%.64s\": "
			"expected up to %u letters, digits, . _ -\n",
			name, NAME_MAX_HERE);
		return -EINVAL;
	}
	if (runtime && runtime[0] == '/' && may_write(runtime))
		n = snprintf(path, size, "%s/datsim", runtime);
	else
		n = snprintf(path, size, "%s/datsim-%u", fallback, geteuid());
	if (n < 0 || (size_t)n + 1 + NAME_MAX_HERE + 8 >= size) {
		fprintf(stderr,
			"libdat: XDG_RUNTIME_DIR=%.32s... is too long for shared fabrics: expected "
			"up to %zu bytes, it has %zu\n",
			runtime, size - NAME_MAX_HERE - 8 - sizeof("/datsim/"), strlen(runtime));
		return -EINVAL;
	}
	err = make_folder(path);
	if (err)
		return err;
	snprintf(path + n, size - (size_t)n, "/%s", name);
	return 0;
}

/* Reserve address space; a program that called mlockall does not want this in memory. */
static void *reserve_range(void)
{
	void *at = mmap(NULL, EMU_REACH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			0);

	if (at == MAP_FAILED)
		return NULL;
	munlock(at, EMU_REACH);
	madvise(at, EMU_REACH, MADV_NOHUGEPAGE);
	mprotect(at, EMU_REACH, PROT_READ | PROT_WRITE);
	return at;
}

static struct emu_fabric *map_file(int fd, struct emu_mapped *mapped)
{
	void *room = reserve_range(), *at;

	mapped->all = room ? EMU_REACH : mapped->size;
	at = mmap(room, mapped->size, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_NORESERVE | (room ? MAP_FIXED : 0), fd, 0);
	if (at == MAP_FAILED) {
		if (room)
			munmap(room, EMU_REACH);
		return NULL;
	}
	/* A forked child does not take part in the fabric. */
	madvise(at, mapped->all, MADV_DONTFORK);
	madvise(at, mapped->all, MADV_DONTDUMP);
	/* On a disk readahead would zero 32 pages for each one that is touched. */
	madvise(at, mapped->all, MADV_RANDOM);
	return at;
}

/*
 * The same file by another open file description, which no mapping refers to. The lock that says a
 * process lives belongs to a description and must go with the process. Its memory may stay for
 * longer: with a child that shares it, or while the kernel or a tool looks at it.
 */
static int open_again(int fd)
{
	char path[64];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = process_open(path, O_RDWR, 0);
	if (again < 0)
		return fd; /* no /proc here */
	close(fd);
	return again;
}

void emu_file_unmap(struct emu_fabric *fab, const struct emu_mapped *mapped)
{
	munmap(fab, mapped->all);
}

int emu_file_open(const char *path, int *fd, struct emu_fabric **fab, struct emu_mapped *mapped)
{
	struct stat st;
	int err = -EINVAL;

	*fd = process_open(path, O_RDWR | O_NOFOLLOW, 0);
	if (*fd < 0)
		return errno == ENOENT ? -ENOENT : report_errno(path, errno);
	if (fstat(*fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 077)) {
		err = report_error(path, "expected a file of this user's that no other may open",
				   -EACCES);
		goto close_fd;
	}
	mapped->size = (size_t)st.st_size;
	/* A longer one would be mapped over what this process has behind the reserved range. */
	if (mapped->size < sizeof(struct emu_fabric) + POOL_SMALLEST || mapped->size > EMU_REACH) {
		report_error(path, "this is none, or one of another version of libdat", err);
		goto close_fd;
	}
	*fab = map_file(*fd, mapped);
	if (*fab) {
		*fd = open_again(*fd);
		return 0;
	}
	err = -ENOMEM;
close_fd:
	close(*fd);
	return err;
}

bool emu_file_back(int fd, uint64_t offset, uint64_t bytes)
{
	int err = emu_output_allocate(fd, offset, bytes);

	errno = err;
	/* A file system without fallocate allocates blocks as pages are written. */
	return !err || err == EOPNOTSUPP || err == ENOSYS;
}

/* The first entries of the two tables behind it are used at once; entry 0 of the others is not. */
#define FIRST_PART (offsetof(struct emu_fabric, adapters[3]))

/* Allocate the parts that are used at once, or grow without a call of emu_file_back. */
static bool back_first(int fd)
{
	return emu_file_back(fd, 0, FIRST_PART) &&
	       emu_file_back(fd, offsetof(struct emu_fabric, link), sizeof(struct emu_link)) &&
	       emu_file_back(fd, offsetof(struct emu_fabric, shared), sizeof(struct emu_shared)) &&
	       emu_file_back(fd, offsetof(struct emu_fabric, heap), EVENTS_FIRST) &&
	       emu_file_back(fd, offsetof(struct emu_fabric, trace), EMU_TRACE_FIRST);
}

/* The name of the n-th file that this process makes and has not published yet. */
static void temporary_name(const char *path, unsigned int n, char *name, size_t size)
{
	const char *slash = strrchr(path, '/');

	snprintf(name, size, "%.*s/.%d.%u", (int)(slash - path), path, getpid(), n);
}

/* A file without a name, which can get one through /proc later. -1: not on this file system. */
static int make_nameless(const char *path)
{
	char folder[256], link[64];
	int fd;

	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	fd = process_open(folder, O_TMPFILE | O_RDWR, 0600);
	if (fd < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (access(link, F_OK) == 0)
		return fd;
	close(fd);
	return -1;
}

/*
 * A file with a temporary name. Processes of several pid namespaces may have the same pid, so a
 * name that is taken is another process's: it stays, and the next number is tried.
 */
static int make_named(const char *path, char *name, size_t size)
{
	int fd = -1;

	for (unsigned int n = 0; fd < 0 && n < NAMES_TRIED; n++) {
		temporary_name(path, n, name, size);
		fd = process_open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd;
}

int emu_file_make(const char *path, struct emu_new_file *file, struct emu_fabric **fab,
		  struct emu_mapped *mapped)
{
	size_t pool;
	int err;

	file->name[0] = '\0';
	file->fd = make_nameless(path);
	if (file->fd < 0)
		file->fd = make_named(path, file->name, sizeof(file->name));
	if (file->fd < 0)
		return report_errno(path, errno);
	for (pool = EMU_POOL_BYTES; pool >= POOL_SMALLEST; pool /= 4) {
		mapped->size = sizeof(struct emu_fabric) + pool;
		err = emu_output_resize(file->fd, mapped->size);
		if (err || !back_first(file->fd)) {
			errno = err ? err : errno;
			continue;
		}
		*fab = map_file(file->fd, mapped);
		if (!*fab)
			continue;
		(*fab)->size = mapped->size;
		(*fab)->pool_next = 1;
		(*fab)->pool_end = (uint32_t)(pool / EMU_POOL_UNIT);
		file->fd = open_again(file->fd);
		return 0;
	}
	err = errno;
	if (file->name[0])
		unlink(file->name);
	close(file->fd);
	report_errno(path, err);
	return -ENOMEM;
}

int emu_file_publish(const struct emu_new_file *file, const char *path)
{
	char link_to[64];
	int err;

	if (file->name[0]) {
		err = link(file->name, path) ? -errno : 0;
		unlink(file->name);
		return err;
	}
	snprintf(link_to, sizeof(link_to), "/proc/self/fd/%d", file->fd);
	return linkat(AT_FDCWD, link_to, AT_FDCWD, path, AT_SYMLINK_FOLLOW) ? -errno : 0;
}
