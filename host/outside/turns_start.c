/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_start.c - the beginning and the end of a program in lockstep: it takes part from before its
 * main until its last descriptor is closed, whether it has opened an adapter or not. So a server
 * that accepts by TCP first, a shell, and a child by fork or exec have their turns like all others.
 *
 * Each library of the process offers to join the fabric. A program that has neither, and may be a
 * shell or load one later, joins by the libibverbs of this library's folder.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "turns.h"
#include "host/nic_process.h"

#define OFFERS 2

static struct {
	bool (*attend)(void);
	const void *library; /* where it was loaded */
} offer[OFFERS];
static int offers;
static bool attends; /* the process has joined here */

/*
 * The loader lets one library be initialised at a time. libibverbs has uDAPL's code, too, which
 * offers after its own: the first offer of a library counts.
 */
void libdat_outside_offer(bool (*attend)(void))
{
	const void *library = NULL;
	Dl_info info;

	if (dladdr((const void *)(uintptr_t)attend, &info))
		library = info.dli_fbase;
	for (int i = 0; i < offers; i++)
		if (offer[i].library == library)
			return;
	if (offers == OFFERS)
		return;
	offer[offers].attend = attend;
	offer[offers++].library = library;
}

static void load_a_library(void)
{
	char path[PATH_MAX];
	const char *slash;
	Dl_info info;

	if (!dladdr((const void *)(uintptr_t)libdat_outside_offer, &info) || !info.dli_fname)
		return;
	slash = strrchr(info.dli_fname, '/');
	if (!slash ||
	    (size_t)snprintf(path, sizeof(path), "%.*s/libibverbs.so.1",
			     (int)(slash - info.dli_fname), info.dli_fname) >= sizeof(path))
		return;
	dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

void turns_attend(void)
{
	if (!process_env("DATSIM_LOCKSTEP"))
		return;
	if (!offers)
		load_a_library();
	/* A program of two libraries has a thread for each, which wait for each other. */
	attends = offers == 1 && offer[0].attend();
}

bool turns_hand_over(void)
{
	bool attended = attends;

	attends = false;
	if (attended)
		turns_end();
	return attended && !turns_book();
}

/* ---- main ---- */

typedef int main_function(int argc, char **argv, char **envp);
int __libc_start_main(main_function *run, int argc, char **argv, void (*init)(void),
		      void (*fini)(void), void (*loader_fini)(void), void *stack);

static main_function *program_main;

static int attend_and_run(int argc, char **argv, char **envp)
{
	turns_attend();
	turns_begin((uintptr_t)program_main);
	return program_main(argc, argv, envp);
}

int turns_libc_start_main(main_function *run, int argc, char **argv, void (*init)(void),
			  void (*fini)(void), void (*loader_fini)(void),
			  void *stack) __asm__("__libc_start_main");
int turns_libc_start_main(main_function *run, int argc, char **argv, void (*init)(void),
			  void (*fini)(void), void (*loader_fini)(void), void *stack)
{
	program_main = run;
	return REAL(__libc_start_main)(attend_and_run, argc, argv, init, fini, loader_fini, stack);
}

/* ---- the end ---- */

static void __attribute__((destructor)) leave_at_exit(void)
{
	turns_end();
}

void turns_exit_at_once(int status) __asm__("_exit") __attribute__((noreturn));
void turns_exit_at_once(int status)
{
	if (PROGRAM)
		turns_end();
	REAL(_exit)(status);
	__builtin_unreachable();
}

void turns_exit_by_c(int status) __asm__("_Exit") __attribute__((noreturn));
void turns_exit_by_c(int status)
{
	if (PROGRAM)
		turns_end();
	REAL(_exit)(status);
	__builtin_unreachable();
}
