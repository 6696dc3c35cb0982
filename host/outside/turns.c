/* SPDX-License-Identifier: BSD-3-Clause */
/* turns.c - libdat-turns.so's way to the library: which calls are the program's, and waiting. */
#define _GNU_SOURCE
#include "turns.h"

#include <link.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host/nic_process.h"

#define LIBRARIES 2 /* libdat and libibverbs */

struct code {
	uintptr_t from, to;
};

static struct {
	const struct outside *table;
} met[LIBRARIES];
static unsigned int mets;
static bool began; /* one has met; clocks stay virtual after it has left its fabric */
static struct code libraries[LIBRARIES]; /* those that have met, or are about to */
static unsigned int codes;
static struct code program; /* its own; none before it begins */
static struct code former;  /* one that has left its fabric, until the next one has met */
/*
 * The code of this library. If a function of libdat was called from here and ends in one of our
 * calls, which compilers make a jump, then the return address is here.
 */
static struct code own;

/* The linker puts what REAL looks up between these. */
extern struct turns_real __start_turns_functions[] __attribute__((visibility("hidden")));
extern struct turns_real __stop_turns_functions[] __attribute__((visibility("hidden")));

static void __attribute__((constructor)) look_up_all(void)
{
	for (struct turns_real *real = __start_turns_functions; real < __stop_turns_functions;
	     real++)
		turns_real(real);
}

static int widen_code(struct dl_phdr_info *info, size_t size, void *out)
{
	struct code *code = out;
	uintptr_t from;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		from = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && code->from >= from &&
		    code->from < from + p->p_memsz) {
			*code = (struct code){ .from = from, .to = from + p->p_memsz };
			return 1;
		}
	}
	return 0;
}

/* All code of the library that has this address. */
static struct code code_around(uintptr_t address)
{
	struct code code = { .from = address };

	dl_iterate_phdr(widen_code, &code);
	return code;
}

static bool is_in(const struct code *code, uintptr_t address)
{
	return address >= code->from && address < code->to;
}

/* Can be read once the process has joined a fabric; -1: it will not join one in lockstep. */
static int joined_fd = -1;

static void open_joined(void)
{
	if (process_env("DATSIM_LOCKSTEP") && process_env("DATSIM_FABRIC"))
		joined_fd = process_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

static int fd_of_joining(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, open_joined);
	return joined_fd;
}

static __thread bool mine __attribute__((tls_model("initial-exec")));

void libdat_outside_mine(bool is_mine)
{
	mine = is_mine;
}

static unsigned int libraries_known(void)
{
	return __atomic_load_n(&codes, __ATOMIC_ACQUIRE);
}

static bool is_of_library(uintptr_t address)
{
	unsigned int n = libraries_known();

	for (unsigned int i = 0; i < n; i++)
		if (is_in(&libraries[i], address))
			return true;
	return false;
}

/*
 * The process has left the fabric that it joined by the only library so far, for another one. Once
 * that one has met, the code of the former is the program's: libdat may use no fabric but that of a
 * libibverbs below it, and then its locks and waits give the turn up like the program's. Until then
 * it sees the machine's clocks: it reads them while the other one joins, for as long as the machine
 * takes, and in virtual time that must not count. If it joins after all, it is met again.
 */
static void forget_library(void)
{
	uint64_t joined;

	former = libraries[0];
	__atomic_store_n(&mets, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&codes, 0, __ATOMIC_RELEASE);
	if (REAL(read)(fd_of_joining(), &joined, sizeof(joined)) < 0)
		return; /* nothing to forget */
}

/* Two libraries may call at the same time. */
void libdat_outside_own(const void *code)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	unsigned int n;
	bool left;

	left = !is_of_library((uintptr_t)code) && turns_hand_over();
	REAL(pthread_mutex_lock)(&lock);
	if (left)
		forget_library();
	n = libraries_known();
	if (n < LIBRARIES && !is_of_library((uintptr_t)code)) {
		libraries[n] = code_around((uintptr_t)code);
		__atomic_store_n(&codes, n + 1, __ATOMIC_RELEASE);
	}
	REAL(pthread_mutex_unlock)(&lock);
}

/* Its lock makes the calls come one at a time. */
void libdat_outside_meet(const struct outside *table)
{
	const uint64_t one = 1;
	unsigned int n = mets;

	if (table->size < sizeof(*table) || n == LIBRARIES)
		return;
	for (unsigned int i = 0; i < n; i++)
		if (met[i].table == table)
			return;
	turns_clock_go_on();
	own = code_around((uintptr_t)&libdat_outside_meet);
	libdat_outside_own((const void *)(uintptr_t)table->wait);
	met[n].table = table;
	__atomic_store_n(&mets, n + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&began, true, __ATOMIC_RELEASE);
	if (write(fd_of_joining(), &one, sizeof(one)) < 0)
		return; /* no thread waits for it */
}

static unsigned int libraries_met(void)
{
	return __atomic_load_n(&mets, __ATOMIC_ACQUIRE);
}

bool turns_before(void)
{
	return !libraries_met() && fd_of_joining() >= 0;
}

bool turns_wait_before(int fd, int ms)
{
	struct pollfd fds[2] = { { .fd = fd, .events = POLLIN },
				 { .fd = fd_of_joining(), .events = POLLIN } };

	return turns_before() && REAL(poll)(fds, 2, ms) >= 0 && turns_before();
}

void turns_begin(uintptr_t address)
{
	program = code_around(address);
}

bool turns_is_main(const void *caller)
{
	return is_in(&program, (uintptr_t)caller);
}

bool turns_is_program(const void *caller)
{
	if (!__atomic_load_n(&began, __ATOMIC_ACQUIRE) || mine ||
	    is_of_library((uintptr_t)caller) || is_in(&own, (uintptr_t)caller))
		return false;
	return libraries_met() > 0 || !is_in(&former, (uintptr_t)caller);
}

void turns_tell(bool descriptor)
{
	unsigned int n = libraries_met();
	int before = errno;

	for (unsigned int i = 0; i < n; i++)
		met[i].table->tell(descriptor);
	errno = before;
}

static void leave_turn(void)
{
	for (unsigned int i = 0; i < libraries_met(); i++)
		met[i].table->leave();
}

void turns_bear(void)
{
	for (unsigned int i = 0; i < libraries_met(); i++)
		met[i].table->bear();
}

void turns_born(int pid)
{
	int before = errno;

	for (unsigned int i = 0; i < libraries_met(); i++)
		met[i].table->born(pid);
	errno = before;
}

void turns_end(void)
{
	for (unsigned int i = 0; i < libraries_met(); i++)
		met[i].table->end();
}

/* The same as turns_time asks: that of the first call of the thread. */
int turns_thread(void)
{
	for (unsigned int i = 0; i < libraries_met(); i++)
		if (met[i].table->thread())
			return (int)i;
	return -1;
}

void turns_no_thread(int library)
{
	if (library >= 0)
		met[library].table->no_thread();
}

bool turns_time(uint64_t *now)
{
	for (unsigned int i = 0; i < libraries_met(); i++) {
		*now = met[i].table->now();
		if (*now != OUTSIDE_NEVER)
			return true;
	}
	return false;
}

uint64_t turns_now(void)
{
	uint64_t now = OUTSIDE_NEVER;

	for (unsigned int i = 0; i < libraries_met() && now == OUTSIDE_NEVER; i++)
		now = met[i].table->look();
	return now == OUTSIDE_NEVER ? 0 : now;
}

static enum outside_wait wait_turn(uint64_t ns, bool descriptor)
{
	enum outside_wait outcome = OUTSIDE_NONE;
	unsigned int n = libraries_met();

	for (unsigned int i = 0; i < n && outcome == OUTSIDE_NONE; i++)
		outcome = met[i].table->wait(ns, descriptor);
	return outcome;
}

/* ends: a handler ends the wait. Another program may send the signal, and tells as for a write. */
static bool wait_once(uint64_t ns, bool descriptor, bool ends)
{
	enum outside_wait outcome;
	int before = errno;
	uint64_t blocked;
	bool kept;

	kept = turns_keep_back(ends, &blocked);
	outcome = wait_turn(turns_alarm_left(ns), descriptor || (kept && ends));
	turns_alarm_fire();
	if (kept && turns_let_in(blocked))
		outcome = OUTSIDE_AGAIN;
	errno = before;
	return outcome == OUTSIDE_AGAIN;
}

/* A thread that ends the world may wait for the turn. */
static bool wait_or_leave(uint64_t ns, bool descriptor, bool ends)
{
	bool again = wait_once(ns, descriptor, ends);

	if (!again)
		leave_turn();
	return again;
}

bool turns_let_others(uint64_t ns, bool descriptor)
{
	return wait_or_leave(ns, descriptor, false);
}

void turns_found_nothing(void)
{
	int before = errno;

	turns_let_others(TURNS_TEST_NS, false);
	errno = before;
}

bool turns_wait_fd(uint64_t ns)
{
	return wait_or_leave(turns_timers_left(ns), true, true);
}

bool turns_wait_own(uint64_t ns)
{
	return wait_or_leave(ns, false, true);
}

struct nic_book *turns_book(void)
{
	struct nic_book *book = NULL;

	for (unsigned int i = 0; i < libraries_met() && !book; i++)
		book = met[i].table->book();
	return book;
}

bool turns_pass(uint64_t ns)
{
	return wait_turn(ns, false) == OUTSIDE_AGAIN;
}

void turns_yield(uint64_t ns)
{
	wait_once(ns, false, false);
}
