/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_table.h - libdat-turns.so alone: each call of libc that it covers, with a table
 * (host/outside/outside.h) of the test's in place of a library that is in lockstep. A log has what
 * the table was asked for: "wait 2000", "wait ever", the same with "fd" if descriptors count,
 * "tell", "tell fd", "leave".
 */
#ifndef TESTS_TURNS_TABLE_H
#define TESTS_TURNS_TABLE_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/nic.h"
#include "host/outside/outside.h"
#include "turns_main.h"
#include "tests/support/support.h"

#define NEVER OUTSIDE_NEVER

extern char heard[1024];
extern uint64_t clock_now;
extern enum outside_wait answer;
extern uint64_t takes;     /* each wait; 0: all its time */
extern void (*hook)(void); /* at the wait with this number, from 1 */
extern int hook_at;
extern int wire[2]; /* what is written to 1 is read from 0 */
extern struct nic_book book;
extern int announced; /* threads that are being created */
extern bool in_fabric;
extern struct outside table;
void meet_table(struct outside *which);
void begin(void);
void expect(const char *words);
void set_hook(int at, void (*function)(void));
void feed(void);
void empty(void);
void choke(void);
ssize_t take(int way, int flags);
ssize_t give(int way, int flags);
int look(int way, int ms);
extern sem_t sem;
void post(void);
struct timespec in_ns(long ns);
extern pthread_mutex_t mutex;
extern pthread_rwlock_t rwlock;
void let_go(void);
extern pthread_cond_t cond;
void signal_all(void);
void *end_at_once(void *arg);
extern int ended;
int64_t ns_at(clockid_t clock);
void note_signal(int sig);
void wait_again(void);
void send_signals(void);

#endif /* TESTS_TURNS_TABLE_H */
