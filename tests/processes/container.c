/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * container HOW COMMAND... - run a command as in a container without privileges: as an ordinary
 * user without capabilities and without a way to gain any. HOW is "permitted", or the error
 * ("EPERM" or "ENOSYS") with which system calls that containers forbid then fail: access to other
 * processes, and some more. Exit status 77: this machine cannot do it.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define UID_NOBODY   65534
#define CANNOT       77
#define CAPABILITIES 64
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const long refused[] = {
	SYS_process_vm_readv, SYS_process_vm_writev, SYS_ptrace,          SYS_kcmp,
	SYS_membarrier,       SYS_pidfd_getfd,       SYS_perf_event_open, SYS_bpf,
	SYS_userfaultfd,      SYS_unshare,           SYS_setns,           SYS_mount,
	SYS_keyctl,           SYS_process_madvise,   SYS_personality,
};

static int cannot(const char *what)
{
	fprintf(stderr, "container: %s: %s\n", what, strerror(errno));
	return CANNOT;
}

/* ---- who ---- */

static bool become_nobody(void)
{
	if (geteuid() != 0)
		return true;
	return setgroups(0, NULL) == 0 && setresgid(UID_NOBODY, UID_NOBODY, UID_NOBODY) == 0 &&
	       setresuid(UID_NOBODY, UID_NOBODY, UID_NOBODY) == 0;
}

/* no_new_privs prevents exec from adding capabilities, so only the present ones are dropped. */
static bool drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	for (int i = 0; i < CAPABILITIES; i++)
		prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
	return become_nobody() && syscall(SYS_capset, &header, none) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* ---- what ---- */

static bool refuse(int with)
{
	struct sock_filter code[4 + 2 * COUNT(refused)];
	struct sock_fprog program = { .filter = code };
	unsigned short n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < COUNT(refused); i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (unsigned int)refused[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
							 SECCOMP_RET_ERRNO | ((unsigned int)with &
									      SECCOMP_RET_DATA));
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = n;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool is_refused(int with)
{
	char byte = 0;
	struct iovec here = { &byte, 1 };

	return process_vm_readv(getpid(), &here, 1, &here, 1, 0) < 0 && errno == with;
}

/* Sanitizers look for leaks by ptrace. */
static void look_for_no_leaks(void)
{
	const char *options = getenv("ASAN_OPTIONS");
	char more[1000];

	snprintf(more, sizeof(more), "%s%sdetect_leaks=0", options ? options : "",
		 options ? ":" : "");
	setenv("ASAN_OPTIONS", more, 1);
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "";
	int with = strcmp(how, "EPERM") == 0 ? EPERM : strcmp(how, "ENOSYS") == 0 ? ENOSYS : 0;

	if (!with && strcmp(how, "permitted") != 0) {
		fputs("usage: container permitted|EPERM|ENOSYS COMMAND...\n", stderr);
		return 2;
	}
	if (!drop_capabilities())
		return cannot("there is no ordinary user here");
	if (with && !refuse(with))
		return cannot("system calls cannot be refused here");
	if (geteuid() == 0 || (with && !is_refused(with))) {
		fputs("container: this is none\n", stderr);
		return 1;
	}
	if (with)
		look_for_no_leaks();
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 1;
}
