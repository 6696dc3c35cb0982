/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_calls.h - the calls of libc that libdat-turns.so defines: all that it covers. A name stands
 * once. tests/objects/test_turns_list.c walks the list.
 */
#ifndef HOST_TURNS_CALLS_H
#define HOST_TURNS_CALLS_H

/* clang-format off */
/* Where it would block, the thread gives its turn up and is not preempted. */
#define TURNS_WAITS(X) \
	X(read) X(readv) X(recv) X(recvfrom) X(recvmsg) X(recvmmsg) X(__read_chk) X(__recv_chk) \
	X(__recvfrom_chk) X(accept) X(accept4) X(connect) \
	X(sendfile) X(sendfile64) X(splice) X(tee) X(vmsplice) \
	X(preadv2) X(preadv64v2) X(pwritev2) X(pwritev64v2) \
	X(eventfd_read) X(eventfd_write) X(open) X(open64) X(openat) X(openat64) \
	X(__open_2) X(__open64_2) X(__openat_2) X(__openat64_2) X(creat) X(creat64) \
	X(fopen) X(fopen64) X(freopen) X(freopen64) \
	X(dprintf) X(vdprintf) X(__dprintf_chk) X(__vdprintf_chk) \
	X(write) X(writev) X(send) X(sendto) X(sendmsg) X(sendmmsg) \
	X(poll) X(ppoll) X(__poll_chk) X(__ppoll_chk) X(select) X(pselect) \
	X(epoll_wait) X(epoll_pwait) X(epoll_pwait2) \
	X(fgetc) X(getc) X(getchar) X(fgets) X(__fgets_chk) X(getdelim) X(__getdelim) X(getline) \
	X(fread) X(__isoc99_fscanf) X(__isoc99_vfscanf) \
	X(sem_trywait) X(sem_wait) X(sem_timedwait) X(sem_clockwait) \
	X(pthread_mutex_lock) X(pthread_mutex_timedlock) X(pthread_mutex_clocklock) \
	X(pthread_mutex_trylock) \
	X(pthread_rwlock_rdlock) X(pthread_rwlock_wrlock) X(pthread_rwlock_timedrdlock) \
	X(pthread_rwlock_timedwrlock) X(pthread_rwlock_clockrdlock) X(pthread_rwlock_clockwrlock) \
	X(pthread_rwlock_tryrdlock) X(pthread_rwlock_trywrlock) \
	X(pthread_spin_lock) X(pthread_spin_trylock) X(pthread_barrier_wait) X(pthread_once) \
	X(pthread_cond_wait) X(pthread_cond_timedwait) X(pthread_cond_clockwait) X(pthread_join) \
	X(pthread_tryjoin_np) X(pthread_timedjoin_np) X(pthread_clockjoin_np) \
	X(thrd_join) X(thrd_sleep) X(thrd_yield) X(mtx_lock) X(mtx_timedlock) X(mtx_trylock) \
	X(cnd_wait) X(cnd_timedwait) X(call_once) X(sched_yield) \
	X(nanosleep) X(clock_nanosleep) X(usleep) X(sleep) X(pause) \
	X(wait) X(waitpid) X(wait3) X(wait4) X(waitid) X(pclose) \
	X(sigwait) X(sigwaitinfo) X(sigtimedwait) X(sigsuspend) X(syscall) \
	X(flock) X(fcntl) X(fcntl64) X(lockf) X(lockf64) \
	X(msgrcv) X(msgsnd) X(semop) X(semtimedop) \
	X(mq_receive) X(mq_timedreceive) X(mq_send) X(mq_timedsend)

/* Threads that wait for what it does try again. */
#define TURNS_TELLS(X) \
	X(close) X(close_range) X(closefrom) X(dup) X(dup2) X(dup3) \
	X(shutdown) X(fflush) X(fclose) X(fwrite) X(fputs) \
	X(sem_post) X(pthread_mutex_unlock) X(pthread_rwlock_unlock) X(pthread_spin_unlock) \
	X(pthread_cond_signal) X(pthread_cond_broadcast) X(mtx_unlock) \
	X(cnd_signal) X(cnd_broadcast) X(pthread_cancel) \
	X(pthread_spin_init) X(pthread_barrier_init) X(pthread_barrier_destroy) \
	X(kill) X(killpg) X(sigqueue) X(tgkill) X(pidfd_send_signal) \
	X(pthread_kill) X(pthread_sigqueue) X(msgctl) X(semctl)

/* Processes and threads that it starts or ends take their places in the order of turns. */
#define TURNS_STARTS(X) \
	X(__libc_start_main) X(pthread_create) X(thrd_create) X(fork) X(vfork) \
	X(posix_spawn) X(posix_spawnp) X(system) X(popen) \
	X(execve) X(execv) X(execvp) X(execvpe) X(execl) X(execlp) X(execle) X(fexecve) \
	X(_exit) X(_Exit)

/* The handler matters once a thread waits. */
#define TURNS_NOTES(X) X(sigaction) X(signal) X(__sysv_signal)

/* What the program sees, or means, is virtual: time, ids, ports, random numbers, names. */
#define TURNS_SHOWS(X) \
	X(clock_gettime) X(gettimeofday) X(time) X(timespec_get) \
	X(timerfd_create) X(timerfd_settime) X(timerfd_gettime) \
	X(timer_create) X(timer_settime) X(timer_gettime) X(timer_getoverrun) X(timer_delete) \
	X(alarm) X(ualarm) X(setitimer) X(getitimer) X(pidfd_open) \
	X(getpid) X(getppid) X(gettid) X(getpgid) X(getpgrp) X(setpgid) X(getsid) X(setsid) \
	X(tcgetpgrp) X(tcsetpgrp) X(ioctl) X(sched_setaffinity) X(sched_getaffinity) \
	X(sched_setscheduler) X(sched_getscheduler) X(setpriority) X(getpriority) \
	X(mkstemp) X(mkstemp64) X(mkostemp) X(mkostemp64) X(mkstemps) X(mkstemps64) \
	X(mkostemps) X(mkostemps64) X(mkdtemp) \
	X(process_vm_readv) X(process_vm_writev) \
	X(getrandom) X(getentropy) X(arc4random) X(arc4random_buf) X(arc4random_uniform) \
	X(bind) X(listen) X(getsockname) X(getpeername)
/* clang-format on */

#endif /* HOST_TURNS_CALLS_H */
