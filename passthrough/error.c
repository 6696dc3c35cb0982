/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors of verbs calls: those that come in errno, and advice on the one that users meet most
 * often.
 */
#include <errno.h>
#include <sys/resource.h>

#include "hw.h"

int hw_errno(void)
{
	/* Some drivers (siw) leave no reason where there is no room. */
	return errno > 0 ? -errno : -ENOMEM;
}

int hw_explain_no_memory(int err)
{
	static bool told;
	struct rlimit limit;

	if (err != -ENOMEM || told || getrlimit(RLIMIT_MEMLOCK, &limit) ||
	    limit.rlim_cur == RLIM_INFINITY)
		return err;
	told = true;
	hw_host->say(
		"out of memory for the adapter; this process may lock %lu KiB only, and memory "
		"that an "
		"adapter uses is locked: raise it (ulimit -l unlimited, or memlock in "
		"/etc/security/limits.conf)",
		(unsigned long)limit.rlim_cur / 1024);
	return err;
}
