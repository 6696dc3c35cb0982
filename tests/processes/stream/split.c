/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * split - long messages of which both ends copy a part (emu/payload/split.h). The system calls that
 * copy are this program's own: at its first piece the sender waits until the receiver has begun one
 * of its own, which then goes well, comes too late, fails, or is the last thing that one of the two
 * does. Each message arrives whole, or not at all if an end of it dies. Each case has a receiver
 * and a sender of its own, in one fabric.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/processes/die.h"

#define QUALIFIER   7970
#define LARGEST     (3u << 20)
#define LAST        8u          /* bytes of a payload that come last */
#define BEHIND      64u         /* bytes of memory, for the short message */
#define LEAST       (32u << 10) /* no piece is shorter, and no other copy by pid is as long */
#define AGAIN       75
#define UNASKED     76
#define STAGED_MOST (1u << 20) /* bytes of a payload in a staging buffer */
#define SKIPPED     77

static const uint32_t sizes[] = { 128u << 10, 256u << 10, (1u << 20) + 1, LARGEST - 12345 };
#define COUNT_SIZES ((int)(sizeof(sizes) / sizeof(sizes[0])))

enum way {
	POLLS,            /* the receiver polls, and copies pieces in time */
	WAITS,            /* it waits for the fabric's lock, and does the same */
	IS_LATE,          /* it copies its piece when the sender's buffer has changed again */
	CANNOT_READ,      /* its copy fails */
	CANNOT_WRITE,     /* the sender's does */
	REFUSED_AND_LATE, /* likewise, while the receiver is late */
	SENDER_DIES,
	DIES_AND_LATE, /* it dies while the receiver is late */
	RECEIVER_DIES, /* with a piece that it has claimed */
	WAYS
};

static const char *const names[] = {
	[POLLS] = "a receiver that polls helps",
	[WAITS] = "one that waits for the lock helps",
	[IS_LATE] = "a copy that is late changes nothing",
	[CANNOT_READ] = "the receiver's copy fails",
	[CANNOT_WRITE] = "the sender's copy fails",
	[REFUSED_AND_LATE] = "the sender's copy fails while the receiver is late",
	[SENDER_DIES] = "the sender dies",
	[DIES_AND_LATE] = "the sender dies while the receiver is late",
	[RECEIVER_DIES] = "the receiver dies",
};

static struct {
	enum way way;
	uint32_t size;
	bool sends;
	int from, to;         /* pipes from and to the other end */
	unsigned int copies;  /* pieces that this end has begun */
	unsigned int unasked; /* those of another thread of the receiver than the program's */
	uint8_t *memory;      /* of the receiver */
	unsigned int *read;   /* pieces that the receiver has begun: memory of all */
} t;

/*
 * Does the connection break, without the message? If the sender cannot write, a payload that is too
 * long for a staging buffer has no way around a late receiver.
 */
static bool is_broken_off(void)
{
	return t.way == SENDER_DIES || t.way == DIES_AND_LATE ||
	       (t.way == REFUSED_AND_LATE && t.size > STAGED_MOST);
}

static void tell(void)
{
	if (write(t.to, "", 1) != 1)
		pair_fail("the other end is gone");
}

static void await(void)
{
	char said;

	if (read(t.from, &said, 1) != 1)
		pair_fail("the other end is gone");
}

/* ---- the system calls ---- */

/* Is this the piece of that number, from 0, of this end? */
static bool is_piece(const struct iovec *local, unsigned int number)
{
	return local->iov_len >= LEAST && t.copies++ == number;
}

static ssize_t refuse(void)
{
	errno = EFAULT;
	return -1;
}

/* A program that spins on the end of its buffer finds all else there. */
static void expect_no_last_bytes(void)
{
	for (uint32_t at = t.size - LAST; at < t.size; at++)
		if (t.memory[at])
			pair_fail("the last bytes are there before others");
}

/* The receiver reads a piece. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals,
			 const struct iovec *remote, unsigned long remotes, unsigned long flags)
{
	/* The late one is not the first one, which is whole. */
	bool is_late = t.way == IS_LATE || t.way == DIES_AND_LATE || t.way == REFUSED_AND_LATE;
	bool it = is_piece(local, is_late && t.way != REFUSED_AND_LATE);
	ssize_t copied;

	*t.read = t.copies;
	if (it && is_late) {
		tell();
		await();
	}
	/* One behind a piece that failed would be late. */
	if (!it && t.way == CANNOT_READ && t.copies == 2)
		await();
	t.unasked += it && syscall(SYS_gettid) != getpid();
	copied = it && t.way == CANNOT_READ ? refuse()
					    : syscall(SYS_process_vm_readv, pid, local, locals,
						      remote, remotes, flags);
	if (local->iov_len >= LEAST)
		expect_no_last_bytes();
	if (it && !is_late)
		tell();
	if (it && t.way == RECEIVER_DIES)
		kill(getpid(), SIGKILL);
	return copied;
}

/* The sender writes a piece. */
ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long locals,
			  const struct iovec *remote, unsigned long remotes, unsigned long flags)
{
	bool first = is_piece(local, 0);

	if (first && t.way == WAITS)
		tell();
	if (first)
		await();
	if (first && (t.way == SENDER_DIES || t.way == DIES_AND_LATE))
		kill(getpid(), SIGKILL);
	return first && (t.way == CANNOT_WRITE || t.way == REFUSED_AND_LATE)
		       ? refuse()
		       : syscall(SYS_process_vm_writev, pid, local, locals, remote, remotes, flags);
}

/* ---- an end ---- */

struct end {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, recv, send, other;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_SRQ_HANDLE srq; /* of the receiver; DAT_HANDLE_NULL: none */
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT key;
	uint8_t *memory;
};

static uint8_t byte_of(uint32_t at)
{
	return (uint8_t)(at * 7 + (at >> 8) * 13 + (at >> 16) * 31 + t.size + 1);
}

static void make_evd(const struct end *end, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	pair_check(dat_evd_create(end->ia, 8, DAT_HANDLE_NULL, flags, evd), "dat_evd_create");
}

/* The Receive of a sender that died would be the next one's, were its receiver not late. */
static void open_with_srq(struct end *end, DAT_EP_ATTR *attr)
{
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };

	pair_check(dat_srq_create(end->ia, end->pz, &srq_attr, &end->srq), "dat_srq_create");
	pair_check(dat_ep_create_with_srq(end->ia, end->pz, end->recv, end->send, end->other,
					  end->srq, attr, &end->ep),
		   "dat_ep_create_with_srq");
}

static void open_end(struct end *end)
{
	DAT_EP_ATTR attr = { .service_type = DAT_SERVICE_TYPE_RC,
			     .max_recv_dtos = 4,
			     .max_request_dtos = 4,
			     .max_recv_iov = 1,
			     .max_request_iov = 1 };
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT remote;
	DAT_VADDR address;
	DAT_VLEN length;

	pair_check(dat_ia_open((DAT_NAME_PTR) "emu0", 8, &end->async, &end->ia), "dat_ia_open");
	pair_check(dat_pz_create(end->ia, &end->pz), "dat_pz_create");
	make_evd(end, DAT_EVD_DTO_FLAG, &end->recv);
	make_evd(end, DAT_EVD_DTO_FLAG, &end->send);
	make_evd(end, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, &end->other);
	end->memory = calloc(1, LARGEST + BEHIND);
	if (!end->memory)
		pair_fail("out of memory");
	region.for_va = end->memory;
	pair_check(dat_lmr_create(end->ia, DAT_MEM_TYPE_VIRTUAL, region, LARGEST + BEHIND, end->pz,
				  DAT_MEM_PRIV_ALL_FLAG, &end->lmr, &end->key, &remote, &length,
				  &address),
		   "dat_lmr_create");
	if (t.way == DIES_AND_LATE && !t.sends)
		open_with_srq(end, &attr);
	else
		pair_check(dat_ep_create(end->ia, end->pz, end->recv, end->send, end->other, &attr,
					 &end->ep),
			   "dat_ep_create");
}

static DAT_LMR_TRIPLET segment(const struct end *end, uint32_t at, uint32_t length)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = end->key,
				  .virtual_address = (DAT_VADDR)(uintptr_t)(end->memory + at),
				  .segment_length = length };
}

/* Of a message of the sender, or of a short one of the receiver. */
static void post_receive(const struct end *end)
{
	DAT_LMR_TRIPLET whole = t.sends ? segment(end, LARGEST, BEHIND) : segment(end, 0, LARGEST);

	if (end->srq)
		pair_check(dat_srq_post_recv(end->srq, 1, &whole, (DAT_DTO_COOKIE){ .as_64 = 1 }),
			   "dat_srq_post_recv");
	else
		pair_check(dat_ep_post_recv(end->ep, 1, &whole, (DAT_DTO_COOKIE){ .as_64 = 1 },
					    DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_recv");
}

static void post_send(const struct end *end, uint32_t length)
{
	DAT_LMR_TRIPLET piece = segment(end, 0, length);

	pair_check(dat_ep_post_send(end->ep, 1, &piece, (DAT_DTO_COOKIE){ .as_64 = 2 },
				    DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_send");
}

/* Polls: a receiver that sleeps copies nothing. */
static DAT_DTO_COMPLETION_EVENT_DATA poll_for(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) != DAT_SUCCESS)
		;
	return event.event_data.dto_completion_event_data;
}

static void expect_success(DAT_EVD_HANDLE evd)
{
	if (poll_for(evd).status != DAT_DTO_SUCCESS)
		pair_fail("a transfer failed");
}

/* ---- the receiver ---- */

static void expect_whole(const struct end *end)
{
	DAT_DTO_COMPLETION_EVENT_DATA dto = poll_for(end->recv);

	if (dto.status != DAT_DTO_SUCCESS || dto.transfered_length != t.size)
		pair_fail("a Receive failed");
	for (uint32_t at = 0; at < LARGEST; at++)
		if (end->memory[at] != (at < t.size ? byte_of(at) : 0))
			pair_fail("other bytes");
	if (t.copies == 0)
		pair_fail("the receiver copied nothing");
}

/* The message has not arrived, though parts of it may have. */
static void expect_break(const struct end *end)
{
	if (poll_for(end->recv).status == DAT_DTO_SUCCESS)
		pair_fail("a message that was not sent whole is complete");
	expect_event(end->other, DAT_CONNECTION_EVENT_BROKEN);
}

static void receive(void)
{
	struct end end = { .async = DAT_HANDLE_NULL };
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	open_end(&end);
	t.memory = end.memory;
	pair_check(dat_psp_create(end.ia, QUALIFIER, end.other, DAT_PSP_CONSUMER_FLAG, &psp),
		   "dat_psp_create");
	tell();
	event = expect_event(end.other, DAT_CONNECTION_REQUEST_EVENT);
	post_receive(&end);
	pair_check(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, end.ep, 0, NULL),
		   "dat_cr_accept");
	expect_event(end.other, DAT_CONNECTION_EVENT_ESTABLISHED);
	tell();
	if (t.way == WAITS) {
		await(); /* the sender holds the lock */
		post_send(&end, 8);
		if (t.copies == 0)
			pair_fail("a thread that waits for the lock copied nothing");
	}
	if (is_broken_off()) {
		expect_break(&end);
	} else {
		expect_whole(&end);
		expect_event(end.other, DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	pair_check(dat_ia_close(end.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	exit(t.way == POLLS && t.unasked ? UNASKED : 0);
}

/* ---- the sender ---- */

static void send_one(const struct end *end)
{
	for (uint32_t at = 0; at < t.size; at++)
		end->memory[at] = byte_of(at);
	post_send(end, t.size);
	if (t.copies == 0)
		_exit(*t.read ? AGAIN : SKIPPED); /* not a leak, where these are looked for */
	if (t.way == RECEIVER_DIES || is_broken_off()) {
		if (poll_for(end->send).status == DAT_DTO_SUCCESS && is_broken_off())
			pair_fail("a Send that could not be copied succeeds");
		expect_event(end->other, DAT_CONNECTION_EVENT_BROKEN);
		if (t.way == REFUSED_AND_LATE)
			tell();
		return;
	}
	expect_success(end->send);
	/* The Send is complete: a change of its buffer must not reach the receiver. */
	memset(end->memory, 0xee, LARGEST);
	if (t.way == IS_LATE || t.way == CANNOT_READ || t.way == REFUSED_AND_LATE)
		tell();
	if (t.way == WAITS)
		expect_success(end->recv);
	pair_check(dat_ep_disconnect(end->ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	expect_event(end->other, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void send_to_it(void)
{
	struct end end = { .async = DAT_HANDLE_NULL };

	open_end(&end);
	await();
	connect_ep(end.ep, QUALIFIER, end.other);
	if (t.way == WAITS)
		post_receive(&end);
	await();
	send_one(&end);
	pair_check(dat_ia_close(end.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	exit(0);
}

/* ---- the cases ---- */

static pid_t start_end(bool sends, const int in[2], const int out[2])
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(in[1]);
	close(out[0]);
	t.from = in[0];
	t.to = out[1];
	t.sends = sends;
	if (sends)
		send_to_it();
	receive();
	return -1;
}

static int status_of(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		pair_fail("no process");
	return status;
}

static bool has_ended_by(int status, int code)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

/* It ends well, or is killed where it is to die. */
static void expect_end(int status, bool dies, const char *what)
{
	if (dies ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : !status)
		return;
	printf("%s, %u bytes: status %#x\n", names[t.way], t.size, (unsigned int)status);
	pair_fail(what);
}

/* Open the fabric and leave it: who does so cleans up after a process that died with the lock. */
static void visit(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	pid_t pid = fork();

	if (pid == 0) {
		pair_check(dat_ia_open((DAT_NAME_PTR) "emu0", 8, &async, &ia), "dat_ia_open");
		pair_check(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
		exit(0);
	}
	expect_end(status_of(pid), false, "a visitor does not end well");
}

/* False: the receiver was so quick, or the sender so slow, that nothing was left for the sender. */
static bool try_case(enum way way, uint32_t size)
{
	static int cases, unasked;
	int there[2], back[2], receiver, sender;
	pid_t pid, sends;

	hang_begin(names[way]);
	t.way = way;
	t.size = size;
	*t.read = 0;
	if (pipe(there) || pipe(back))
		pair_fail("no pipe");
	pid = start_end(false, there, back);
	sends = start_end(true, back, there);
	close(there[0]);
	close(back[0]);
	close(back[1]);
	sender = status_of(sends);
	if (way == DIES_AND_LATE) {
		visit();
		if (write(there[1], "", 1) != 1)
			pair_fail("the receiver is gone");
	}
	close(there[1]);
	if (has_ended_by(sender, AGAIN) || has_ended_by(sender, SKIPPED))
		kill(pid, SIGKILL);
	receiver = status_of(pid);
	if (has_ended_by(sender, AGAIN))
		return false;
	if (cases++ == 0 && has_ended_by(sender, SKIPPED)) {
		printf("skipped: this process cannot write to the memory of another one\n");
		exit(SKIPPED);
	}
	expect_end(sender, way == SENDER_DIES || way == DIES_AND_LATE,
		   "the sender does not end well");
	/*
	 * The library's helper thread takes the fabric's lock from time to time, and helps if it
	 * has to wait for it. That happens by chance, and not each time.
	 */
	if (!has_ended_by(receiver, UNASKED) || ++unasked == COUNT_SIZES)
		expect_end(receiver, way == RECEIVER_DIES, "the receiver does not end well");
	return true;
}

static int run_case(enum way way, uint32_t size)
{
	while (!try_case(way, size))
		;
	return 1;
}

/* A process that keeps the fabric, with the entries of those that have died. */
static pid_t start_keeper(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	int in[2], out[2];
	pid_t pid;

	if (pipe(in) || pipe(out))
		pair_fail("no pipe");
	t.from = in[0];
	t.to = out[1];
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		t.from = out[0];
		t.to = in[1];
		pair_check(dat_ia_open((DAT_NAME_PTR) "emu0", 8, &async, &ia), "dat_ia_open");
		tell();
		await();
		pair_check(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
		exit(0);
	}
	await();
	return pid;
}

int main(void)
{
	pid_t keeper = start_keeper();
	int messages = 0;

	t.read = mmap(NULL, sizeof(*t.read), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (t.read == MAP_FAILED)
		pair_fail("out of memory");
	for (int way = 0; way < WAYS; way++)
		for (int i = 0; i < COUNT_SIZES; i++)
			if (way != CANNOT_WRITE || sizes[i] <= STAGED_MOST)
				messages += run_case((enum way)way, sizes[i]);
	messages += run_case(POLLS,
			     sizes[0]); /* in the entry of a receiver that died while it helped */
	tell();
	expect_end(status_of(keeper), false, "the keeper does not end well");
	printf("%d messages, of each what is right\n", messages);
	return 0;
}
