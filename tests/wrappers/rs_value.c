/* SPDX-License-Identifier: BSD-3-Clause */
/* rs_value.c - numbers of rsockets, buffers and sets as arguments: see cm_kit.h. */
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "cm_kit.h"
#include "tests/support/support.h"

/* ---- rsockets ---- */

static uint64_t make_fd(uint64_t good, unsigned int value)
{
	return (uint32_t)fuzz_kit_fd((enum fuzz_fd)(value == 0 ? good : value - 1));
}
const struct fuzz_kind fuzz_fd = { 1 + FDS, make_fd };

/* The length of an address, in and out; `good` is there. */
static uint64_t make_length(uint64_t good, unsigned int value)
{
	static const socklen_t lengths[] = { 0, 1, 15, UINT32_MAX, 0x80000000u };
	socklen_t *length = fuzz_room(sizeof(*length));

	*length = value && value <= COUNT(lengths) ? lengths[value - 1] : (socklen_t)good;
	return value > COUNT(lengths) ? 0 : (uintptr_t)length;
}
const struct fuzz_kind fuzz_length = { 7, make_length };

static const ssize_t counts[] = { 1, 0, -1, INT_MAX, 2 };

/* The count is an argument of its own, so there are as many buffers as it may say. */
static uint64_t make_iov(uint64_t good, unsigned int value)
{
	struct iovec *iov = fuzz_room(2 * sizeof(*iov));

	(void)good;
	iov[0] = (struct iovec){ fuzz_room(64), 64 };
	iov[1] = (struct iovec){ fuzz_room(64), value == 1 ? SIZE_MAX : 64 };
	if (value == 2)
		iov[0].iov_base = NULL;
	return value == 3 ? 0 : (uintptr_t)iov;
}
const struct fuzz_kind fuzz_iov = { 4, make_iov };

static uint64_t make_count(uint64_t good, unsigned int value)
{
	(void)good;
	return (uint64_t)counts[value];
}
const struct fuzz_kind fuzz_count_of = { 5, make_count };

static uint64_t make_msg(uint64_t good, unsigned int value)
{
	struct msghdr *msg = fuzz_room(sizeof(*msg));

	(void)good;
	if (value == 4)
		fuzz_fill(msg, sizeof(*msg));
	msg->msg_name = msg->msg_control = NULL;
	msg->msg_iov = (struct iovec *)make_iov(0, value % 4);
	msg->msg_iovlen = value == 5 ? SIZE_MAX : (size_t)(value == 6 ? INT_MAX : 1);
	return (uintptr_t)msg;
}
const struct fuzz_kind fuzz_msg = { 7, make_msg };

static uint64_t make_pollfds(uint64_t good, unsigned int value)
{
	struct pollfd *fds = fuzz_room(2 * sizeof(*fds));

	if (value == 3)
		return 0;
	fds[0] = (struct pollfd){ .fd = fuzz_kit_fd(FD_ACTIVE), .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = value ? INT_MAX : -1, .events = -1 };
	if (value == 2)
		fuzz_fill(fds, good * sizeof(*fds));
	return (uintptr_t)fds;
}
const struct fuzz_kind fuzz_pollfds = { 4, make_pollfds };

/* How many there are, at most; too many. */
static uint64_t make_pollcount(uint64_t good, unsigned int value)
{
	static const nfds_t all[] = { 2, 1, 0, UINT32_MAX, ~(nfds_t)0 };

	(void)good;
	return all[value];
}
const struct fuzz_kind fuzz_pollcount = { 5, make_pollcount };

static uint64_t make_set(uint64_t good, unsigned int value)
{
	fd_set *set = fuzz_room(sizeof(*set));

	if (good && value == 0) {
		int fd = fuzz_kit_fd(FD_ACTIVE);

		FD_SET(fd, set);
	}
	if (value == 1)
		fuzz_fill(set, sizeof(*set));
	return value == 2 ? 0 : (uintptr_t)set;
}
const struct fuzz_kind fuzz_set = { 3, make_set };

static uint64_t make_time(uint64_t good, unsigned int value)
{
	static const struct timeval all[] = { { 0, 0 }, { 0, 1 }, { -1, 0 }, { 0, -1 } };
	struct timeval *time = fuzz_room(sizeof(*time));

	(void)good;
	*time = all[value];
	return (uintptr_t)time;
}
const struct fuzz_kind fuzz_time = { 4, make_time };
