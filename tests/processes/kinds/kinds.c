/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kinds KIND - a program of several threads or processes without an adapter, which wait for each
 * other in one of the ways that programs have. What it prints is the same on each Linux, so it has
 * to be the same in lockstep, too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "kinds.h"

#define ROUNDS   5
#define HEIRLOOM 9 /* a descriptor */

/* ---- threads of C11, which hand a number to and fro ---- */

static mtx_t mutex;
static cnd_t changed;
static once_flag once = ONCE_FLAG_INIT;
static int number;

static void begin_slowly(void)
{
	thrd_sleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	puts("once");
}

static int count_odd(void *arg)
{
	call_once(&once, begin_slowly);
	for (int i = 0; i < ROUNDS; i++) {
		mtx_lock(&mutex);
		while (number % 2 == 0)
			cnd_wait(&changed, &mutex);
		printf("odd %d\n", number++);
		cnd_signal(&changed);
		mtx_unlock(&mutex);
	}
	return arg ? 7 : 0;
}

static int sleep_in_c(void *arg)
{
	thrd_sleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
	puts("slept");
	return arg != NULL;
}

static int run_c11(void)
{
	thrd_t thread;
	int result;

	mtx_init(&mutex, mtx_plain);
	cnd_init(&changed);
	thrd_create(&thread, count_odd, &number);
	call_once(&once, begin_slowly);
	for (int i = 0; i < ROUNDS; i++) {
		mtx_lock(&mutex);
		while (number % 2)
			cnd_wait(&changed, &mutex);
		printf("even %d\n", number++);
		cnd_broadcast(&changed);
		mtx_unlock(&mutex);
		thrd_yield();
	}
	thrd_join(thread, &result);
	printf("result %d\n", result);
	thrd_create(&thread, sleep_in_c, NULL);
	sleep_ms(400);
	puts("slept longer");
	thrd_join(thread, NULL);
	return 0;
}

/* ---- processes that share locks ---- */

struct shared {
	pthread_mutex_t mutex, robust;
	pthread_cond_t changed;
	pthread_rwlock_t rwlock;
	pthread_spinlock_t spin;
	sem_t posted, taken;
	int number;
};

static struct shared *shared_new(void)
{
	struct shared *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t of_mutex;
	pthread_condattr_t of_cond;
	pthread_rwlockattr_t of_rwlock;

	must(s != MAP_FAILED, "no memory");
	pthread_mutexattr_init(&of_mutex);
	pthread_mutexattr_setpshared(&of_mutex, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&s->mutex, &of_mutex);
	pthread_mutexattr_setrobust(&of_mutex, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&s->robust, &of_mutex);
	pthread_condattr_init(&of_cond);
	pthread_condattr_setpshared(&of_cond, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&s->changed, &of_cond);
	pthread_rwlockattr_init(&of_rwlock);
	pthread_rwlockattr_setpshared(&of_rwlock, PTHREAD_PROCESS_SHARED);
	pthread_rwlock_init(&s->rwlock, &of_rwlock);
	pthread_spin_init(&s->spin, PTHREAD_PROCESS_SHARED);
	sem_init(&s->posted, 1, 0);
	sem_init(&s->taken, 1, 0);
	return s;
}

/* Each at its turn, by the number. */
static void shared_count(struct shared *s, int mine, const char *name)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&s->mutex);
		while (s->number % 2 != mine)
			pthread_cond_wait(&s->changed, &s->mutex);
		printf("%s %d\n", name, s->number++);
		pthread_cond_signal(&s->changed);
		pthread_mutex_unlock(&s->mutex);
	}
}

static void shared_child(struct shared *s)
{
	shared_count(s, 1, "child");
	sem_wait(&s->posted);
	puts("child posted");
	pthread_rwlock_rdlock(&s->rwlock);
	puts("child reads");
	pthread_rwlock_unlock(&s->rwlock);
	pthread_spin_lock(&s->spin);
	puts("child spins");
	pthread_mutex_lock(&s->robust);
	sem_post(&s->taken);
	sleep_ms(1);
	_exit(0);
}

static int run_shared(void)
{
	struct shared *s = shared_new();
	pid_t child = fork();

	if (child == 0)
		shared_child(s);
	shared_count(s, 0, "parent");
	pthread_spin_lock(&s->spin);
	pthread_rwlock_wrlock(&s->rwlock);
	sleep_ms(1);
	sem_post(&s->posted);
	sleep_ms(1);
	puts("parent wrote");
	pthread_rwlock_unlock(&s->rwlock);
	sleep_ms(1);
	puts("parent spun");
	pthread_spin_unlock(&s->spin);
	sem_wait(&s->taken);
	must(pthread_mutex_lock(&s->robust) == EOWNERDEAD, "its owner lives");
	must(pthread_mutex_consistent(&s->robust) == 0, "it is inconsistent");
	must(pthread_mutex_unlock(&s->robust) == 0, "it is not locked");
	must(waitpid(child, NULL, 0) == child, "no child");
	puts("repaired");
	return 0;
}

/* ---- a barrier in memory that processes share ---- */

static void pass_barrier(pthread_barrier_t *barrier, int *last, int who)
{
	for (int i = 0; i < ROUNDS; i++) {
		sleep_ms(who);
		if (pthread_barrier_wait(barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			__atomic_fetch_add(last, 1, __ATOMIC_SEQ_CST);
		printf("%d in round %d\n", who, i);
	}
}

/* The other thread or process may not have left the barrier yet. */
static void destroy_early(pthread_barrier_t *barrier, const pthread_barrierattr_t *attr, int who)
{
	pid_t child;

	must(pthread_barrier_init(barrier, attr, 2) == 0, "no barrier");
	child = fork();
	if (child == 0) {
		sleep_ms(who);
		pthread_barrier_wait(barrier);
		_exit(0);
	}
	sleep_ms(1 - who);
	pthread_barrier_wait(barrier);
	must(pthread_barrier_destroy(barrier) == 0, "the barrier is in use");
	must(waitpid(child, NULL, 0) == child, "no child");
	printf("destroyed as %d left\n", who);
}

static int run_barrier(void)
{
	struct {
		pthread_barrier_t barrier;
		int last;
	} *all =
		mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_t attr;

	must(all != MAP_FAILED, "no memory");
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	must(pthread_barrier_init(&all->barrier, &attr, 3) == 0, "no barrier");
	for (int who = 1; who < 3; who++) {
		if (fork() == 0) {
			pass_barrier(&all->barrier, &all->last, who);
			_exit(0);
		}
	}
	pass_barrier(&all->barrier, &all->last, 0);
	must(wait(NULL) > 0 && wait(NULL) > 0, "no children");
	must(pthread_barrier_destroy(&all->barrier) == 0, "the barrier is in use");
	printf("last %d times\n", all->last);
	for (int who = 0; who < 2; who++)
		destroy_early(&all->barrier, &attr, who);
	return 0;
}

/* ---- a process that waits only while it holds a lock that another one wants ---- */

static void take_lock(struct shared *s, int kind)
{
	if (kind == 0)
		pthread_mutex_lock(&s->mutex);
	else if (kind == 1)
		pthread_rwlock_wrlock(&s->rwlock);
	else
		pthread_spin_lock(&s->spin);
}

static void let_go(struct shared *s, int kind)
{
	if (kind == 0)
		pthread_mutex_unlock(&s->mutex);
	else if (kind == 1)
		pthread_rwlock_unlock(&s->rwlock);
	else
		pthread_spin_unlock(&s->spin);
}

static void take_once(struct shared *s, int kind)
{
	take_lock(s, kind);
	s->number = 1;
	let_go(s, kind);
	_exit(0);
}

static int run_greedy(void)
{
	static const char *const names[] = { "mutex", "rwlock", "spin lock" };

	for (int kind = 0; kind < 3; kind++) {
		struct shared *s = shared_new();
		int seen = 0;
		pid_t child = fork();

		if (child == 0)
			take_once(s, kind);
		while (!seen) {
			take_lock(s, kind);
			usleep(10);
			seen = s->number;
			let_go(s, kind);
		}
		must(waitpid(child, NULL, 0) == child, "no child");
		printf("the child had the %s\n", names[kind]);
	}
	return 0;
}

/* ---- a child that replaces its program, which closes a pipe ---- */

static int run_exec(void)
{
	struct timespec before, after;
	int ends[2];
	pid_t child;
	char byte;

	must(pipe2(ends, O_CLOEXEC) == 0, "no pipe");
	clock_gettime(CLOCK_MONOTONIC, &before);
	child = vfork();
	if (child == 0) {
		execlp("sleep", "sleep", "9", (char *)NULL);
		_exit(1);
	}
	close(ends[1]);
	must(read(ends[0], &byte, 1) == 0, "the pipe is not closed");
	clock_gettime(CLOCK_MONOTONIC, &after);
	printf("closed %s\n", after.tv_sec - before.tv_sec < 8 ? "at once" : "late");
	kill(child, SIGKILL);
	must(waitpid(child, NULL, 0) == child, "no child");
	return 0;
}

/* ---- a child that is killed, and takes the kernel a while to end ---- */

static int run_killed(void)
{
	const size_t bytes = 128ul << 20;
	struct timespec before, after;
	int ends[2];
	pid_t child;
	char byte;
	void *much;

	must(pipe(ends) == 0, "no pipe");
	child = fork();
	if (child == 0) {
		much = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		must(much != MAP_FAILED && write(ends[1], "", 1) == 1, "no memory");
		sleep(9);
		_exit(1);
	}
	must(read(ends[0], &byte, 1) == 1, "no word of the child");
	clock_gettime(CLOCK_MONOTONIC, &before);
	must(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child, "no child");
	clock_gettime(CLOCK_MONOTONIC, &after);
	printf("ended %s\n", after.tv_sec - before.tv_sec < 8 ? "at once" : "late");
	return 0;
}

/* ---- who sent a signal, or ended ---- */

static volatile pid_t sender;

static void note_sender(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	sender = info->si_pid;
}

static pid_t begin_sender(int sig)
{
	pid_t parent = getpid(), child = fork();

	if (child != 0)
		return child;
	sleep_ms(1);
	kill(parent, sig);
	_exit(5);
}

static void expect_sender(const char *how, pid_t pid, pid_t child)
{
	printf("%s: %s\n", how, pid == child ? "the child" : "another process");
}

/* The signal and the end of the child, by a descriptor. */
static void read_signals(void)
{
	struct signalfd_siginfo info;
	pid_t child = begin_sender(SIGUSR1);
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	fd = signalfd(-1, &set, 0);
	for (int i = 0; i < 2; i++) {
		must(read(fd, &info, sizeof(info)) == sizeof(info), "no signal");
		expect_sender("signalfd", (pid_t)info.ssi_pid, child);
	}
	must(waitpid(child, NULL, 0) == child, "no child");
}

/* By a descriptor that the program before this one opened. */
static int run_heir(void)
{
	struct signalfd_siginfo info;
	pid_t child = begin_sender(SIGUSR2);

	must(read(HEIRLOOM, &info, sizeof(info)) == sizeof(info), "no signal");
	expect_sender("signalfd of another program", (pid_t)info.ssi_pid, child);
	must(waitpid(child, NULL, 0) == child, "no child");
	return 0;
}

static int become_heir(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	must(dup2(signalfd(-1, &set, 0), HEIRLOOM) == HEIRLOOM, "no descriptor");
	execl("/proc/self/exe", "kinds", "heir", (char *)NULL);
	return 1;
}

/* Since glibc 2.36 */
int pidfd_open(pid_t pid, unsigned int flags) __attribute__((weak));
int pidfd_send_signal(int fd, int sig, siginfo_t *info, unsigned int flags) __attribute__((weak));

static int open_process(pid_t pid)
{
	return pidfd_open ? pidfd_open(pid, 0) : (int)syscall(SYS_pidfd_open, pid, 0);
}

static int end_process(int fd)
{
	if (pidfd_send_signal)
		return pidfd_send_signal(fd, SIGTERM, NULL, 0);
	return (int)syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0);
}

static int run_sender(void)
{
	const struct sigaction action = { .sa_sigaction = note_sender, .sa_flags = SA_SIGINFO };
	struct sigaction old;
	siginfo_t info = { 0 };
	sigset_t set;
	pid_t child;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	must(sigaction(SIGUSR2, &action, NULL) == 0, "no handler");
	must(sigaction(SIGUSR2, &action, &old) == 0, "no other handler");
	must(old.sa_sigaction == note_sender, "another handler");
	child = begin_sender(SIGUSR2);
	pause();
	expect_sender("handler", sender, child);
	must(sigwaitinfo(&set, &info) == SIGCHLD, "another signal");
	expect_sender("sigwaitinfo", info.si_pid, child);
	must(waitpid(child, NULL, 0) == child, "no child");
	read_signals();
	child = begin_sender(SIGUSR1);
	fd = open_process(child);
	must(waitid((idtype_t)P_PIDFD, (id_t)fd, &info, WEXITED) == 0, "no child");
	expect_sender("waitid", info.si_pid, child);
	child = fork();
	if (child == 0)
		pause();
	fd = open_process(child);
	must(end_process(fd) == 0, "no process");
	must(waitid((idtype_t)P_PIDFD, (id_t)fd, &info, WEXITED) == 0, "no child");
	printf("ended by %d\n", info.si_status);
	return become_heir();
}

/* ---- signals of alarm and setitimer, which end waits ---- */

static volatile sig_atomic_t alarms;

static void count_alarm(int sig)
{
	alarms += sig == SIGALRM;
}

static void set_timer(int ms, int every_ms)
{
	const struct itimerval value = { .it_value = { .tv_usec = ms * 1000 },
					 .it_interval = { .tv_usec = every_ms * 1000 } };

	must(setitimer(ITIMER_REAL, &value, NULL) == 0, "no timer");
}

static void *wait_for_all(void *arg)
{
	must(sem_wait(arg) == 0, "no post");
	puts("thread");
	return arg;
}

static int run_alarm(void)
{
	const struct sigaction action = { .sa_handler = count_alarm };
	unsigned int left;
	pthread_t thread;
	sem_t all;
	int how;

	must(sem_init(&all, 0, 0) == 0 && sigaction(SIGALRM, &action, NULL) == 0, "no handler");
	alarm(1);
	left = sleep(3);
	printf("time is left: %d, alarms: %d\n", left > 0, (int)alarms);
	must(pthread_create(&thread, NULL, wait_for_all, &all) == 0, "no thread");
	set_timer(500, 500);
	while (alarms < 4)
		pause();
	set_timer(0, 0);
	printf("alarms %d\n", (int)alarms);
	sem_post(&all);
	pthread_join(thread, NULL);
	signal(SIGALRM, SIG_DFL);
	alarm(100);
	if (fork() == 0) {
		must(alarm(1) == 0, "an alarm of the parent's");
		for (;;)
			pause();
	}
	must(alarm(0) == 100, "no alarm");
	must(wait(&how) > 0 && WIFSIGNALED(how), "no end by a signal");
	printf("ended by %d\n", WTERMSIG(how));
	return 0;
}

/* ---- queues of messages, and semaphores of System V ---- */

static struct {
	long type;
	char text[8];
} message = { .type = 1 };

static void change_semaphore(int id, int by)
{
	struct sembuf op = { .sem_op = (short)by };

	must(semop(id, &op, 1) == 0, "no semaphore");
}

static void answer_all(int ask, int tell, int sem, mqd_t queue)
{
	for (int i = 0; i < ROUNDS; i++) {
		must(msgrcv(ask, &message, 8, 0, 0) == 8, "no question");
		printf("question %s\n", message.text);
		sleep_ms(1);
		must(msgsnd(tell, &message, 8, 0) == 0, "no room");
		change_semaphore(sem, -1);
		must(mq_receive(queue, message.text, 8, NULL) == 8, "no message");
		printf("message %s\n", message.text);
	}
	must(msgrcv(ask, &message, 8, 0, 0) == -1 && errno == EIDRM, "not removed");
	_exit(0);
}

static int run_queues(void)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	const struct timespec soon = { .tv_nsec = 1000000 };
	int ask = msgget(IPC_PRIVATE, 0600), tell = msgget(IPC_PRIVATE, 0600);
	int sem = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf down = { .sem_op = -1 };
	char path[32];
	pid_t child;
	mqd_t queue;

	snprintf(path, sizeof(path), "/kinds-%d", (int)getpid());
	mq_unlink(path);
	queue = mq_open(path, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	must(queue >= 0 && mq_unlink(path) == 0, "no queue");
	must(semtimedop(sem, &down, 1, &soon) == -1 && errno == EAGAIN, "no end of the time");
	must(semctl(sem, 0, SETVAL, 0) == 0, "no value");
	child = fork();
	if (child == 0)
		answer_all(ask, tell, sem, queue);
	for (int i = 0; i < ROUNDS; i++) {
		snprintf(message.text, sizeof(message.text), "%d", i);
		must(msgsnd(ask, &message, 8, 0) == 0, "no room");
		must(msgrcv(tell, &message, 8, 0, 0) == 8, "no answer");
		printf("answer %s\n", message.text);
		change_semaphore(sem, 1);
		must(mq_send(queue, message.text, 8, 0) == 0, "no room in the queue");
	}
	sleep_ms(100);
	msgctl(ask, IPC_RMID, NULL);
	must(waitpid(child, NULL, 0) == child, "no child");
	msgctl(tell, IPC_RMID, NULL);
	semctl(sem, 0, IPC_RMID);
	return 0;
}

/* ---- a process that outlives its parent, as Python's resource tracker does ---- */

static int run_left(void)
{
	int fds[2];
	char byte;

	must(pipe(fds) == 0, "no pipe");
	if (fork() == 0) {
		close(fds[1]);
		must(read(fds[0], &byte, 1) == 0, "no end");
		sleep_ms(100);
		_exit(0);
	}
	puts("left");
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} kinds[] = { { "alarm", run_alarm },     { "c11", run_c11 },       { "closes", run_closes },
	      { "barrier", run_barrier }, { "timers", run_timers }, { "copies", run_copies },
	      { "moves", run_moves },     { "popen", run_popen },   { "records", run_records },
	      { "exec", run_exec },       { "greedy", run_greedy }, { "heir", run_heir },
	      { "killed", run_killed },   { "last", run_last },     { "owners", run_owners },
	      { "left", run_left },       { "queues", run_queues }, { "sender", run_sender },
	      { "shared", run_shared },   { "kept", run_kept },     { "stays", run_stays } };

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; argc == 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name))
			return kinds[i].run();
	fprintf(stderr, "usage: kinds KIND\n");
	return 2;
}
