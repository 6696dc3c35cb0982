/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_process.h - what libdat takes from the process around it, for every room and for modules.
 *
 * Only this file reads the environment (tests/house/includes.sh). The caller of a program chooses
 * its environment and its name. A program with more rights than its caller (setuid, setgid, file
 * capabilities: AT_SECURE of getauxval) therefore ignores both: a variable could load code into it,
 * or truncate a file that only the program may write.
 */
#ifndef HOST_NIC_PROCESS_H
#define HOST_NIC_PROCESS_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/auxv.h>

/* The value of the environment's variable; NULL: it is not set, or may not be believed. */
static inline const char *process_env(const char *name)
{
	return secure_getenv(name);
}

/* False: the caller of the program chose its name and has fewer rights than the program. */
static inline bool process_believes_caller(void)
{
	return getauxval(AT_SECURE) == 0;
}

#endif /* HOST_NIC_PROCESS_H */
