/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outside.h - threads that block outside this library, in lockstep: in a semaphore, a socket, a
 * sleep. A thread that blocks in the kernel keeps the turn until the watchdog takes it away, and
 * from there on two runs may differ (emu/lockstep/lockstep.h).
 *
 * libdat-turns.so (turns.c), which is loaded before a program, defines the calls of libc that
 * block. Each tries without blocking, and if it cannot go on it waits here, where other threads get
 * the turn, and tries again. It defines libdat_outside_meet, too, which gets this table when the
 * process has joined a fabric in lockstep. Both libraries may be of different versions: the table
 * grows at its end.
 *
 * Lock: none is held in a call of the table.
 */
#ifndef HOST_OUTSIDE_H
#define HOST_OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTSIDE_NEVER UINT64_MAX

enum outside_wait {
	OUTSIDE_NONE,     /* there is no adapter: leave the turn, if there is one, and block */
	OUTSIDE_AGAIN,    /* something has happened, or the time is over: try again */
	OUTSIDE_HOPELESS, /* no program of the fabric can end this wait: leave the turn and block */
};

struct nic_book;

struct outside {
	size_t size; /* of the table */
	/*
	 * Let others run until `tell` is called in this process, an event comes, or these
	 * nanoseconds of virtual time have passed. descriptor: until `tell` is called with it in
	 * any process of the fabric, and virtual time does not pass for this wait alone.
	 */
	enum outside_wait (*wait)(uint64_t ns, bool descriptor);
	/* What another thread waits for may have happened. */
	void (*tell)(bool descriptor);
	/* The thread is about to block in the kernel. Its next call into the library ends that. */
	void (*leave)(void);
	uint64_t (*now)(void); /* virtual time, ns; OUTSIDE_NEVER: the process is in no fabric */
	/* The caller is about to start a process, which is to join the fabric. */
	void (*bear)(void);
	/*
	 * It has; pid <= 0: it failed. Keep the turn until the process has joined, has ended, or is
	 * not expected any more.
	 */
	void (*born)(int pid);
	/*
	 * The process is about to exit, or to replace its program: if it has no adapter, leave the
	 * fabric, in which nothing happens until it has done so.
	 */
	void (*end)(void);
	/* Of the fabric; NULL: the process is in none. By a thread that has the turn. */
	struct nic_book *(*book)(void);
	/*
	 * As `now`, but the turn does not pass at its end, as it may at the end of any other call:
	 * what the caller has tested still holds when it waits.
	 */
	uint64_t (*look)(void);
	/*
	 * The caller is about to create a thread, which calls `now` first. It keeps the turn until
	 * then, even if the new thread has to wait for a lock. False: the process is in no fabric.
	 */
	bool (*thread)(void);
	/* That failed. */
	void (*no_thread)(void);
};

/* Of libdat-turns.so; NULL: it is not loaded. */
void libdat_outside_meet(const struct outside *table) __attribute__((weak));

/*
 * The same library, before its library joins a fabric: that library's calls of libc are not the
 * program's from now on, though another library of the process may have met.
 */
void libdat_outside_own(const void *code) __attribute__((weak));

/*
 * The same library: what this thread calls is the library's until it says false. The address of a
 * call's caller does not tell: in a program of clang's sanitizers the runtime has functions of its
 * own in front of libc's, and then the caller is the runtime, which is part of the program.
 */
void libdat_outside_mine(bool mine) __attribute__((weak));

/*
 * The same library: the clock that the program has read is ahead of this virtual time by so many
 * ns, as each reading moves it on. It may be called with the library's lock.
 */
uint64_t libdat_outside_ahead(uint64_t now) __attribute__((weak));

/*
 * The same library: `attend`, which this library offers when it is loaded, makes the process join
 * the fabric of its environment, without an adapter. It is called before the program's main, and in
 * a forked child, if no other library offers. False: it cannot join.
 */
void libdat_outside_offer(bool (*attend)(void)) __attribute__((weak));

struct backend;
struct front_ops;
/* A world is about to be made. */
void outside_prepare(const struct backend *b);
/* A world was made: tell libdat-turns.so if it is in lockstep. The lock is held. */
void outside_begin(const struct backend *b);
/* libdat_outside_ahead for a wait in this backend; 0 if the clock is not of its virtual time. */
uint64_t outside_ahead(const struct backend *b, uint64_t now);
/* What a front offers, if its programs are to be on the emulator. */
bool outside_attend(const struct front_ops *ops);
/* The lock is held: is the process in the fabric only by `attend`, and uses no adapter of it? */
bool outside_attends(const struct backend *b);
/* It is, and it is about to make a world of its own: it leaves the fabric, whose trace says so. */
void outside_depart(struct backend *b);
/*
 * After that: has the process one thread? libc says no forever, because there was a helper, and
 * then virtual time would follow the real one.
 */
bool outside_alone(void);

#endif /* HOST_OUTSIDE_H */
