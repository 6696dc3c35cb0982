/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_tid.c - the thread ids that programs in lockstep see. The first thread of a process has the
 * process id (turns_pid.c). Each other one gets the next number of the fabric when it first asks,
 * which is in its turn. Calls of its process take that number; to other processes it means nothing.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "turns.h"

#define KNOWN_MOST 1024 /* threads of this process whose numbers its calls take */

/* The number, and the kernel's id in the lower half; 0: free. A thread that ends has no turn. */
static uint64_t known[KNOWN_MOST];

static __thread struct {
	pid_t shown; /* 0: it has not asked */
	pid_t real;
} self;

static void tid_remember(pid_t shown, pid_t real)
{
	uint64_t word = (uint64_t)(uint32_t)shown << 32 | (uint32_t)real, free = 0;

	for (int i = 0; i < KNOWN_MOST; i++, free = 0)
		if (__atomic_compare_exchange_n(&known[i], &free, word, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return;
}

pid_t turns_tid(void)
{
	pid_t tid = REAL(gettid)();
	struct nic_book *book;

	if (tid == REAL(getpid)())
		return turns_pid_shown(tid);
	if (self.shown && self.real == tid)
		return self.shown;
	book = turns_book();
	if (!book)
		return tid;
	self.real = tid;
	self.shown = NIC_BOOK_TIDS_FIRST + (pid_t)(book->tids++ % NIC_BOOK_TIDS);
	tid_remember(self.shown, tid);
	return self.shown;
}

void turns_tid_gone(void *unused)
{
	(void)unused;
	for (int i = 0; i < KNOWN_MOST && self.shown; i++)
		if ((pid_t)(__atomic_load_n(&known[i], __ATOMIC_RELAXED) >> 32) == self.shown)
			__atomic_store_n(&known[i], 0, __ATOMIC_RELAXED);
}

pid_t turns_tid_meant(pid_t shown)
{
	for (int i = 0; i < KNOWN_MOST; i++) {
		uint64_t word = __atomic_load_n(&known[i], __ATOMIC_RELAXED);

		if ((pid_t)(word >> 32) == shown)
			return (pid_t)(uint32_t)word;
	}
	return shown;
}

pid_t turns_tid_known(pid_t tid)
{
	for (int i = 0; i < KNOWN_MOST; i++) {
		uint64_t word = __atomic_load_n(&known[i], __ATOMIC_RELAXED);

		if (word && (pid_t)(uint32_t)word == tid)
			return (pid_t)(word >> 32);
	}
	return turns_pid_known(tid);
}

/* ---- calls ---- */

pid_t turns_gettid(void) __asm__("gettid");
pid_t turns_gettid(void)
{
	return PROGRAM ? turns_tid() : REAL(gettid)();
}

int turns_tgkill(pid_t group, pid_t tid, int sig) __asm__("tgkill");
int turns_tgkill(pid_t group, pid_t tid, int sig)
{
	bool ours = PROGRAM;
	int result;

	if (!ours)
		return REAL(tgkill)(group, tid, sig);
	result = REAL(tgkill)(turns_pid_meant(group), turns_pid_meant(tid), sig);
	if (result == 0)
		turns_tell(true);
	return result;
}

/* The same function for calls that take the id of a process or of a thread. */
static pid_t id_meant(const void *caller, pid_t id)
{
	return turns_is_program(caller) ? turns_pid_meant(id) : id;
}

#define CALLER __builtin_return_address(0)

int turns_sched_setaffinity(pid_t id, size_t size,
			    const cpu_set_t *set) __asm__("sched_setaffinity");
int turns_sched_setaffinity(pid_t id, size_t size, const cpu_set_t *set)
{
	return REAL(sched_setaffinity)(id_meant(CALLER, id), size, set);
}

int turns_sched_getaffinity(pid_t id, size_t size, cpu_set_t *set) __asm__("sched_getaffinity");
int turns_sched_getaffinity(pid_t id, size_t size, cpu_set_t *set)
{
	return REAL(sched_getaffinity)(id_meant(CALLER, id), size, set);
}

int turns_sched_setscheduler(pid_t id, int policy,
			     const struct sched_param *param) __asm__("sched_setscheduler");
int turns_sched_setscheduler(pid_t id, int policy, const struct sched_param *param)
{
	return REAL(sched_setscheduler)(id_meant(CALLER, id), policy, param);
}

int turns_sched_getscheduler(pid_t id) __asm__("sched_getscheduler");
int turns_sched_getscheduler(pid_t id)
{
	return REAL(sched_getscheduler)(id_meant(CALLER, id));
}

static id_t who_meant(const void *caller, int which, id_t who)
{
	return which == PRIO_USER ? who : (id_t)id_meant(caller, (pid_t)who);
}

int turns_setpriority(int which, id_t who, int priority) __asm__("setpriority");
int turns_setpriority(int which, id_t who, int priority)
{
	return REAL(setpriority)((unsigned int)which, who_meant(CALLER, which, who), priority);
}

int turns_getpriority(int which, id_t who) __asm__("getpriority");
int turns_getpriority(int which, id_t who)
{
	return REAL(getpriority)((unsigned int)which, who_meant(CALLER, which, who));
}
