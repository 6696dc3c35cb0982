/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * startup.h - how far a program that was started has come, as the kernel tells it: programs often
 * meet by TCP before they use the fabric.
 */
#ifndef DATSIM_STARTUP_H
#define DATSIM_STARTUP_H

#include <stdbool.h>
#include <sys/types.h>

/* Does the process, or one that it started, listen at a TCP port? */
bool startup_listens(pid_t pid);
/*
 * Does it wait for something, with all processes that it started? False: the first thread of one
 * has work to do, or the process is not there.
 */
bool startup_waits(pid_t pid);

#define STARTUP_STAT 512 /* bytes that hold /proc/PID/stat up to when the process began */
/*
 * What /proc/PID/stat says behind the name: " STATE PARENT ...", in `text`. NULL: the process is
 * not there, or has been waited for.
 */
const char *startup_stat(pid_t pid, char *text, size_t size);
/* Say what a job launcher such as mpirun needs, if the program is one and no fabric is named. */
void startup_warn_of_launcher(const char *path);

#endif
