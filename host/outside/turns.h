/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns.h - libdat-turns.so, which is loaded before a program in lockstep: the calls of libc that
 * block. Each tries without blocking; if it cannot go on, it lets other threads have the turn
 * (outside.h) and tries again. What a thread does for another one (a post, a signal, a write) tells
 * the others, so that they try again at a point that does not depend on the machine.
 *
 * turns_calls.h lists what is covered. A process takes part from before its main until the kernel
 * has closed its last descriptor, and so do its children by fork and exec (turns_start.c). What it
 * sees of the machine is the same in each run: time, ids of processes and threads, ports, random
 * numbers, names of temporary files. One that joins later, with its first adapter, may have read
 * the machine's clocks by then: the monotonic ones go on from there. Those that only a shared
 * library has read begin anew.
 *
 * Not covered: getaddrinfo and other calls that libc makes inside itself, mq_notify, processor
 * time, names that mktemp, tmpnam and tempnam make up, random numbers of the processor (rdrand),
 * random bytes that the kernel leaves in memory (AT_RANDOM) or that the program reads from a stream
 * by fscanf or without libc's lock (getc_unlocked, fread_unlocked), process and thread ids in /proc
 * (paths with one, the links /proc/self and /proc/thread-self, the file status), ids of threads in
 * calls of another process, prctl and syscall() (but for gettid, kill, tkill, tgkill and
 * pidfd_open), and system calls that a program makes itself, by syscall() (but for those of
 * turns_syscall.c) or in a static program. A thread that blocks there is preempted, and the trace
 * says in which call. If printf, puts or putc write to a pipe or socket by themselves, because the
 * stream has no buffer or its buffer is full, the reader wakes late: at the next flush, write or
 * close. While a thread waits for its turn, handlers of signals do not run; turns_handler.c says
 * when they do.
 *
 * Outside lockstep, before the process has joined a fabric, and for calls of libdat itself, each
 * call is that of libc. Each function has the name of libc's in its asm label. The library is built
 * without a sanitizer, because any program may load it.
 */
#ifndef HOST_TURNS_H
#define HOST_TURNS_H

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

#include "host/nic.h"
#include "outside.h"

#define TURNS_NS      1000000000ull /* a second */
#define TURNS_TEST_NS 2000u         /* of virtual time pass in a test that finds nothing */
#define TURNS_MOST_NS (1ull << 61)  /* 73 years: a longer wait is one without an end */

/*
 * The function with this name that the program would have without this library. All are looked up
 * when the library is loaded: the loader's lock is held, perhaps by a thread that waits for the
 * caller, while a library of the program is initialised or closed.
 */
struct turns_real {
	const char *name;
	void *function; /* NULL: not looked up yet */
};
#define REAL(name)                                                                           \
	({                                                                                   \
		static struct turns_real real_                                               \
			__attribute__((section("turns_functions"), used)) = { #name, NULL }; \
		(__typeof__(&(name)))turns_real(&real_);                                     \
	})

/* The one of this version: dlsym may find an older one. */
#define REAL_COND(name)                                                                         \
	({                                                                                      \
		static __typeof__(&(name)) libc_2_;                                             \
		if (!libc_2_)                                                                   \
			libc_2_ = (__typeof__(&(name)))dlvsym(RTLD_NEXT, #name, "GLIBC_2.3.2"); \
		libc_2_ ? libc_2_ : REAL(name);                                                 \
	})

static inline void *turns_real(struct turns_real *real)
{
	if (!real->function)
		real->function = dlsym(RTLD_NEXT, real->name);
	return real->function;
}

/* Of a time that a call of libc takes; any other is left to libc, which refuses it. */
static inline bool turns_is_valid(const struct timespec *ts)
{
	return ts->tv_sec >= 0 && ts->tv_nsec >= 0 && (uint64_t)ts->tv_nsec < TURNS_NS;
}

/* libc refuses a lock, a semaphore or a condition with a limit by any other clock. */
static inline bool turns_is_lock_clock(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

/* A valid time in ns; OUTSIDE_NEVER if it is so long that sums of it would overflow. */
static inline uint64_t turns_ns(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec < TURNS_MOST_NS / TURNS_NS
		       ? (uint64_t)ts->tv_sec * TURNS_NS + (uint64_t)ts->tv_nsec
		       : OUTSIDE_NEVER;
}

/* Virtual time `t`, and so much later. */
static inline uint64_t turns_after(uint64_t t, uint64_t ns)
{
	return ns == OUTSIDE_NEVER ? ns : t + ns;
}

/* The time from `t` to `end`, which is not before. */
static inline uint64_t turns_left(uint64_t end, uint64_t t)
{
	return end == OUTSIDE_NEVER ? end : end - t;
}

/* Is the caller of the function that this is used in part of the program, and in lockstep? */
#define PROGRAM turns_is_program(__builtin_return_address(0))
bool turns_is_program(const void *caller);

/* The process will join a fabric in lockstep, and has not yet. */
bool turns_before(void);
/*
 * Before the process joins a fabric in lockstep: wait until something can be read, or the time in
 * ms is over, and then return true. False: the process has joined, or will not. So a thread that
 * waits, for example one of a library, takes its place among the others as they join.
 */
bool turns_wait_before(int fd, int ms);
/* Wait once (outside.h). False: the caller has to block as usual. */
bool turns_let_others(uint64_t ns, bool descriptor);
/* A call that does not wait has found nothing: it takes some time, so that a loop of them ends. */
void turns_found_nothing(void);
/*
 * As turns_let_others, for a call that signals interrupt, which tests next, and then asks
 * turns_interrupted. wait_fd: it waits for what a descriptor tells, or a child.
 */
bool turns_wait_fd(uint64_t ns);
bool turns_wait_own(uint64_t ns);
/*
 * A handler has run at the end of the thread's last wait, and the call is to fail with EINTR, which
 * errno says. restarts: unless it goes on after handlers with SA_RESTART.
 */
bool turns_interrupted(bool restarts);
void turns_tell(bool descriptor);
/* Threads that can go on now do, before the caller: a wait for this long in virtual time. */
void turns_yield(uint64_t ns);
/* Sleep in virtual time. False: the caller has to sleep as usual. */
bool turns_sleep_ns(uint64_t ns);
/*
 * Virtual time. The turn stays, so that nothing comes between a test and the wait that follows it.
 */
uint64_t turns_now(void);
/*
 * The same, by a call at whose end the turn may pass; a new thread takes its place among the others
 * by it. False: the process is in no fabric.
 */
bool turns_time(uint64_t *now);
/* clock_gettime as the program sees it. */
int turns_gettime(clockid_t clock, struct timespec *ts);
/* For a call of libc that is to block: a time of the program's clock as one of the kernel's. */
const struct timespec *turns_real_time(bool ours, clockid_t clock, const struct timespec *abs,
				       struct timespec *room);
/* Let the virtual monotonic clocks go on from the machine's, if the program has read those. */
void turns_clock_go_on(void);
/* Virtual time until a time of that clock; OUTSIDE_NEVER: it is decades away. */
uint64_t turns_until(clockid_t clock, const struct timespec *abs);
/* How long ago it was; 0: it was not. */
uint64_t turns_since(clockid_t clock, const struct timespec *abs);
/*
 * The clock that the program has read is ahead of virtual time by this: each reading moves it on,
 * so that a loop of readings ends.
 */
uint64_t turns_ahead(void);
/*
 * Virtual time until the program's clock will be later by ns: no wait is shorter than the program
 * asked for, by its own clock. 0 and OUTSIDE_NEVER stay as they are.
 */
uint64_t turns_later(uint64_t ns);

/* The caller is about to start a process, and has: `bear` and `born` of outside.h. */
void turns_bear(void);
void turns_born(int pid);
/* The process is about to exit, or to replace its program. */
void turns_end(void);
/* A thread is about to be created, or that has failed. Returns the library that was told. */
int turns_thread(void);
void turns_no_thread(int library);
/* Join the fabric of the environment, if the process is in none (turns_start.c). */
void turns_attend(void);
/* The program begins, with this address of main. */
void turns_begin(uintptr_t address);
/* Is the caller part of the program itself, and not of a shared library? False before it begins. */
bool turns_is_main(const void *caller);
/*
 * Another library of the process is about to join: leave if the process is there for nothing. True:
 * it has left.
 */
bool turns_hand_over(void);

/* The book of the fabric; NULL: the process is in none. */
struct nic_book *turns_book(void);

/* ---- turns_pid.c: ids as the program sees them (shown), and as the kernel means them ---- */

pid_t turns_pid_shown(pid_t pid);
/* The same, but a process that has none yet keeps its own. */
pid_t turns_pid_known(pid_t pid);
pid_t turns_pid_meant(pid_t shown);
/* The same, but a negative one is that of a group. */
pid_t turns_id_meant(pid_t shown);
/* The kernel may give the id to another process. */
void turns_pid_gone(pid_t pid);

/* ---- turns_tid.c ---- */

/* The id of the calling thread as the program sees it. */
pid_t turns_tid(void);
pid_t turns_tid_meant(pid_t shown);
/* The id that the program sees; a thread that has not asked for its own keeps the kernel's. */
pid_t turns_tid_known(pid_t tid);
/* The calling thread ends. */
void turns_tid_gone(void *unused);

/* ---- turns_handler.c ---- */

/*
 * The thread is about to wait, or to send a signal: keep back signals that have a handler. ends: it
 * is in a call that they end; in others, only those of another thread. False: there are none. Else
 * *before is for turns_let_in, which says whether a handler has run.
 */
bool turns_keep_back(bool ends, uint64_t *before);
bool turns_let_in(uint64_t before);
/* Make the id in it the one that the program sees. */
void turns_siginfo_shown(siginfo_t *info);
/* For this file: wait once, and let no handler run. False: there is no turn to give up. */
bool turns_pass(uint64_t ns);

/* ---- turns_port.c ---- */

void turns_addr_shown(struct sockaddr *addr, socklen_t size);
/* The address itself, or a copy in `room` with the port that is meant. */
const struct sockaddr *turns_addr_meant(const struct sockaddr *addr, socklen_t size,
					struct sockaddr_storage *room);
/* The kernel has given this socket its port. */
void turns_port_given(int fd);
/* Has it a port, or is it of another family? */
bool turns_is_bound(int fd);

/* ---- turns_random.c ---- */

void turns_random(void *to, size_t n);
/* For a name, from a sequence of its own: how many names are in use changes no other number. */
uint64_t turns_random_name(void);
/* Flags of getrandom that Linux takes. */
bool turns_random_flags(unsigned int flags);
/* Is it /dev/random or /dev/urandom? */
bool turns_is_random(int fd);

/* ---- turns_timer.c ---- */

/* So much of this time is left until the next expiration. */
uint64_t turns_timers_left(uint64_t ns);
/* Make the descriptors of timers readable whose time has come. */
void turns_timers_fire(void);
void turns_timer_closed(int fd);
void turns_timers_closed(unsigned int first, unsigned int last);
/* A call has made `copy` another descriptor of fd, which may be a timer. */
void turns_timer_copied(int fd, int copy);
bool turns_is_timer(int fd);
/* A timer or an eventfd? A read of less than eight bytes from one fails at once. */
bool turns_is_counter(int fd);
/* What was read from a descriptor may be signals: make their ids those that the program sees. */
void turns_signals_shown(int fd, void *got, ssize_t n);

/* Until something can be read. False: its time is over, or a handler has run; errno says so. */
bool turns_await_in(int fd);
/* Wait until something can be written; otherwise as turns_await_in. */
bool turns_await_out(int fd);

/* ---- turns_pending.c ---- */

/* Is such a signal pending for that thread of this process, and not for the process? */
bool turns_is_pending(pid_t tid, int sig);
/* Send this signal to the process, as from its sender. */
void turns_queue_signal(const siginfo_t *info);
/*
 * A timer has at most one signal pending, with the count of the expirations after the first. Take
 * back a signal of the timer of *info that the calling thread could take, and add its expirations
 * to the overruns there. Signals of other senders, which are taken with it, are sent again.
 */
void turns_take_back(siginfo_t *info);

/* ---- turns_expire.c ---- */

/* A thread has taken a signal of the timer with this id: its overrun count, as the signal says. */
int turns_timer_taken(int id, int overrun);

/* ---- turns_alarm.c ---- */

/* So much of this time is left until the next signal of alarm or setitimer. */
uint64_t turns_alarm_left(uint64_t ns);
/* Send the process that signal if its time has come. */
void turns_alarm_fire(void);

/* ---- turns_close.c ---- */

/* close_range, for the program. */
int turns_close_range(unsigned int first, unsigned int last, int flags);

/* ---- turns_fd.c ---- */

/*
 * write and writev, for another function of this library that the program called; `caller` is the
 * address in the program from which it called that function.
 */
ssize_t turns_write_by(const void *caller, int fd, const void *from, size_t n);
ssize_t turns_writev_by(const void *caller, int fd, const struct iovec *iov, int n);
/* What this socket sends can be read when the call that sends it returns. */
void turns_send_at_once(int fd);

/* ---- turns_process.c: for calls of the program ---- */

/* posix_spawn, with the program's environment. */
int turns_spawn(const char *path, const posix_spawn_file_actions_t *actions, char *const argv[],
		pid_t *pid);
/* waitpid, of a child that the program sees under this id. */
pid_t turns_await_child(pid_t pid, int *status);

/* ---- turns_popen.c ---- */

/* Has popen made this stream in lockstep? */
bool turns_is_popened(const FILE *file);
/* pclose, of a stream that popen made in lockstep. */
int turns_end_popened(FILE *file);

/* ---- turns_thread.c: for calls of the program ---- */

/* False: the process is in no fabric, and libc has to create it. */
bool turns_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg,
		  int *err);
int turns_join(pthread_t thread, void **value);
/* nanosleep. */
int turns_sleep_for(const struct timespec *ts, struct timespec *left);

/* ---- turns_lock.c ---- */

/* A lock or a condition variable, and a thread that waits for it. */
struct turns_waiter;
/*
 * Before the thread looks at what it waits for. NULL: too many threads wait; block as usual.
 * shared: it is, or may be, in memory that processes share.
 */
struct turns_waiter *turns_waiter_begin(const void *what, bool shared);
void turns_waiter_end(struct turns_waiter *waiter);
bool turns_waiter_told(const struct turns_waiter *waiter);
/* It was let go, or signalled: threads that wait for it, if there are any, try again. */
void turns_waiters_tell(const void *what, bool shared);

typedef int turns_try(void *lock); /* EBUSY: another thread has it */

/*
 * Take a lock that no thread has twice. abs: not later than then. *real: the caller has to block,
 * or to refuse the time, as usual.
 */
int turns_lock(void *lock, turns_try *try, bool shared, clockid_t clock, const struct timespec *abs,
	       bool *real);
/* What a try returns; one that failed takes some time. */
int turns_after_try(int err);
/* Let others run for as long as a try that fails takes. */
void turns_yield_briefly(void);
/* For calls of the program. */
int turns_mutex_lock(pthread_mutex_t *mutex);
int turns_mutex_until(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *abs,
		      bool *real);
int turns_mutex_unlock(pthread_mutex_t *mutex);

/* ---- turns_sync.c ---- */

/* For calls of the program, as turns_mutex_until. */
int turns_cond_until(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
		     const struct timespec *abs, bool *real);

#endif /* HOST_TURNS_H */
