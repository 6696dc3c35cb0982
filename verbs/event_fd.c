/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_fd.c - the descriptor of a queue of events: an eventfd, whose count is that of the events.
 * The program may read it, and set its flags.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "host/nic_process.h"
#include "vb.h"

int vb_event_fd(void)
{
	return process_fd(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE));
}

/* Before Linux 5.8, a read of an eventfd waits unless the descriptor has O_NONBLOCK. */
static void read_by_flag(int fd)
{
	uint64_t one;
	long n = 0;

	if (fcntl(fd, F_GETFL) & O_NONBLOCK)
		n = syscall(SYS_read, fd, &one, sizeof(one));
	else if (!fcntl(fd, F_SETFL, O_NONBLOCK)) {
		n = syscall(SYS_read, fd, &one, sizeof(one));
		fcntl(fd, F_SETFL, 0);
	}
	(void)n;
}

/* Another thread of the program may set O_NONBLOCK meanwhile, so the flags are left alone. */
void vb_event_taken(int fd)
{
	uint64_t one;
	struct iovec to = { &one, sizeof(one) };

	/* Nothing is there if the program read it. */
	if (syscall(SYS_preadv2, fd, &to, 1, -1l, -1l, RWF_NOWAIT) < 0 && errno != EAGAIN)
		read_by_flag(fd);
}
