/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.c - libdat-files.so, which is loaded before a program: the device files of the emulated
 * devices. Some programs look at /dev/infiniband and /sys/class/infiniband by themselves, where an
 * ordinary machine has nothing.
 *
 * The calls of libc that take a path are defined here. A path below those folders becomes one in
 * the folder `files` beside this library, which verbs/files.sh makes, and there in that of the kind
 * of device; a device is emu0 or emu1 there, whatever DATSIM_VERBS_NAME says; a device file becomes
 * /dev/null, a character device that any user may open. Any other path is passed on unchanged, and
 * so is one that is written otherwise, or relative to another folder. A path that is no string
 * crashes here, where the kernel would return EFAULT.
 *
 * Each function has the name in its asm label: the headers declare some of these names with
 * attributes or as macros. A signal handler may call open, so nothing is allocated, and no lock is
 * taken once the library is loaded.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/nic_process.h"

#define DEVICES "/dev/infiniband"
#define CLASSES "/sys/class/infiniband"

static char tree[PATH_MAX];

/* ---- paths ---- */

static bool path_begins(const char *path, const char *with)
{
	return strncmp(path, with, strlen(with)) == 0;
}

static bool is_device(const char *path)
{
	static const char *const paths[] = { DEVICES "/uverbs0", DEVICES "/uverbs1",
					     DEVICES "/rdma_cm" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (strcmp(path, paths[i]) == 0)
			return true;
	return false;
}

/* Of the classes, infiniband_verbs and its sisters too. */
static bool is_ours(const char *path)
{
	return strcmp(path, DEVICES) == 0 || path_begins(path, DEVICES "/") ||
	       strcmp(path, CLASSES) == 0 || path_begins(path, CLASSES "/") ||
	       path_begins(path, CLASSES "_");
}

static const char *path_elsewhere(const char *path, char room[PATH_MAX])
{
	size_t root = strlen(tree), length;

	if (!path || path[0] != '/' || !root || !is_ours(path))
		return path;
	if (is_device(path))
		return "/dev/null";
	length = strlen(path);
	if (root + length >= PATH_MAX)
		return path;
	memcpy(room, tree, root);
	memcpy(room + root, path, length + 1);
	return room;
}

/* As verbs/setting.c has it. */
static const char *kind_of_device(void)
{
	const char *layer = process_env("DATSIM_LINK_LAYER"), *profile;

	profile = process_env("DATSIM_PROFILE");
	if (profile && strcmp(profile, "iwarp") == 0)
		return "iwarp";
	return layer && strcmp(layer, "ethernet") == 0 ? "ethernet" : "infiniband";
}

/* The folder is there; "up" leads to `files` from the folder of this library. */
static bool is_tree(char *slash, const char *up)
{
	sprintf(slash, "%s/files/%s", up, kind_of_device());
	return access(tree, X_OK) == 0;
}

__attribute__((constructor)) static void find_tree(void)
{
	Dl_info info;
	char *slash;

	if (!dladdr(&tree, &info) || !info.dli_fname ||
	    (size_t)snprintf(tree, sizeof(tree), "%s", info.dli_fname) >= sizeof(tree) - 32)
		goto none;
	slash = strrchr(tree, '/');
	if (!slash)
		goto none;
	if (is_tree(slash, "") || is_tree(slash, "/..")) /* the latter: as libtool builds it */
		return;
none:
	tree[0] = '\0';
}

/* ---- the calls ---- */

/*
 * The definition behind ours. All are looked up when this library is loaded: the library of the
 * fabric calls these functions while it has the fabric's lock, and the loader's lock may be held by
 * a thread that waits for that one, for example in a constructor or destructor of a library.
 */
struct files_next {
	const char *name;
	void *function; /* NULL: not looked up yet */
};

extern struct files_next __start_files_functions[] __attribute__((visibility("hidden")));
extern struct files_next __stop_files_functions[] __attribute__((visibility("hidden")));

static void *files_next(struct files_next *next)
{
	if (!next->function)
		next->function = dlsym(RTLD_NEXT, next->name);
	return next->function;
}

__attribute__((constructor)) static void find_functions(void)
{
	for (struct files_next *next = __start_files_functions; next < __stop_files_functions;
	     next++)
		files_next(next);
}

/* It has the type of ours. */
#define NEXT(ours, name)                                                                      \
	({                                                                                    \
		static struct files_next next_                                                \
			__attribute__((section("files_functions"), used)) = { (name), NULL }; \
		(__typeof__(&(ours)))(uintptr_t)files_next(&next_);                           \
	})

/* A call with a `path`: TYPE NAME PARAMETERS, then the arguments for libc, `there` for the path. */
#define CALL(type, name, parameters, ...)                       \
	type files_##name parameters __asm__(#name);            \
	type files_##name parameters                            \
	{                                                       \
		char room[PATH_MAX];                            \
		const char *there = path_elsewhere(path, room); \
                                                                \
		return NEXT(files_##name, #name)(__VA_ARGS__);  \
	}

/*
 * One with a mode that may be missing. O_DIRECTORY is a part of O_TMPFILE: a mode is read then that
 * no call uses.
 */
#define OPEN(name, parameters, ...)                                           \
	int files_##name parameters __asm__(#name);                           \
	int files_##name parameters                                           \
	{                                                                     \
		char room[PATH_MAX];                                          \
		const char *there = path_elsewhere(path, room);               \
		va_list args;                                                 \
		int mode;                                                     \
                                                                              \
		va_start(args, flags);                                        \
		mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, int) : 0; \
		va_end(args);                                                 \
		return NEXT(files_##name, #name)(__VA_ARGS__, flags, mode);   \
	}

typedef int (*files_filter)(const struct dirent *);
typedef int (*files_order)(const struct dirent **, const struct dirent **);

OPEN(open, (const char *path, int flags, ...), there)
OPEN(open64, (const char *path, int flags, ...), there)
OPEN(openat, (int at, const char *path, int flags, ...), at, there)
OPEN(openat64, (int at, const char *path, int flags, ...), at, there)
CALL(int, __open_2, (const char *path, int flags), there, flags)
CALL(int, __open64_2, (const char *path, int flags), there, flags)
CALL(int, __openat_2, (int at, const char *path, int flags), at, there, flags)
CALL(int, __openat64_2, (int at, const char *path, int flags), at, there, flags)
CALL(FILE *, fopen, (const char *path, const char *mode), there, mode)
CALL(FILE *, fopen64, (const char *path, const char *mode), there, mode)
CALL(int, access, (const char *path, int mode), there, mode)
CALL(int, euidaccess, (const char *path, int mode), there, mode)
CALL(int, faccessat, (int at, const char *path, int mode, int flags), at, there, mode, flags)
CALL(int, stat, (const char *path, void *out), there, out)
CALL(int, stat64, (const char *path, void *out), there, out)
CALL(int, lstat, (const char *path, void *out), there, out)
CALL(int, lstat64, (const char *path, void *out), there, out)
CALL(int, fstatat, (int at, const char *path, void *out, int flags), at, there, out, flags)
CALL(int, fstatat64, (int at, const char *path, void *out, int flags), at, there, out, flags)
CALL(int, __xstat, (int version, const char *path, void *out), version, there, out)
CALL(int, __xstat64, (int version, const char *path, void *out), version, there, out)
CALL(int, __lxstat, (int version, const char *path, void *out), version, there, out)
CALL(int, __lxstat64, (int version, const char *path, void *out), version, there, out)
CALL(int, statx, (int at, const char *path, int flags, unsigned int mask, void *out), at, there,
     flags, mask, out)
CALL(DIR *, opendir, (const char *path), there)
CALL(int, scandir,
     (const char *path, struct dirent ***list, files_filter filter, files_order order), there, list,
     filter, order)
CALL(int, scandir64,
     (const char *path, struct dirent ***list, files_filter filter, files_order order), there, list,
     filter, order)
CALL(ssize_t, readlink, (const char *path, char *out, size_t size), there, out, size)
CALL(ssize_t, readlinkat, (int at, const char *path, char *out, size_t size), at, there, out, size)
CALL(char *, realpath, (const char *path, char *out), there, out)
