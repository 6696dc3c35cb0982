/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that privileged.sh runs with more rights than its caller has, and without:
 *
 *	secure                       0 if the kernel says that it has them
 *	open NAME                    opens and closes an adapter
 *	module                       looks for the module of DAT_PROVIDER=hw; what is said names it
 *	folder                       prints where a shared fabric would be
 *	ordinary PROGRAM NAME ARGS   runs PROGRAM, called NAME, as a user without rights
 *	forks PROGRAM NAME ARGS      the same; prints what the program sends to DATSIM_FORKS
 */
#include <dat/udat.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/shared/shared_file.h"
#include "host/module.h"

#define ORDINARY_ID 65534

static int probe_open(const char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	if (dat_ia_open((DAT_NAME_PTR)name, 8, &async, &ia) != DAT_SUCCESS)
		return 1;
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS;
}

static int probe_folder(void)
{
	char path[256];

	if (emu_file_path("probe", path, sizeof(path)))
		return 1;
	puts(path);
	return 0;
}

static int as_ordinary(char **argv)
{
	if (setgroups(0, NULL) || setgid(ORDINARY_ID) || setuid(ORDINARY_ID)) {
		perror("ordinary");
		return 2;
	}
	execv(argv[0], argv + 1);
	perror(argv[0]);
	return 2;
}

static int as_ordinary_forking(char **argv)
{
	char text[64], message[256];
	int ends[2];
	ssize_t n;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		return 2;
	child = fork();
	if (child == 0) {
		close(ends[0]);
		snprintf(text, sizeof(text), "%d:%d", ends[1], (int)getpid());
		setenv("DATSIM_FORKS", text, 1);
		_exit(as_ordinary(argv));
	}
	close(ends[1]);
	n = recv(ends[0], message, sizeof(message) - 1, 0);
	close(ends[0]);
	if (n > 0)
		printf("sent: %.*s\n", (int)n, message);
	return child < 0 || waitpid(child, NULL, 0) != child;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc > 3 && strcmp(what, "ordinary") == 0)
		return as_ordinary(argv + 2);
	if (argc > 3 && strcmp(what, "forks") == 0)
		return as_ordinary_forking(argv + 2);
	if (argc > 2 && strcmp(what, "open") == 0)
		return probe_open(argv[2]);
	if (strcmp(what, "module") == 0)
		return module_load("probe", NULL) != NULL;
	if (strcmp(what, "folder") == 0)
		return probe_folder();
	return strcmp(what, "secure") == 0 ? !getauxval(AT_SECURE) : 2;
}
