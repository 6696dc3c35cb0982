/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_handler.c - handlers of signals, of a program in lockstep. While a thread waits for its
 * turn, signals that have a handler are kept back. Their handlers run when it has the turn, which
 * is at the same point in each run, and the call that waited can tell that they have.
 *
 * The kernel gives a signal for the process to its first thread, unless that one blocks it. Here,
 * that one may only keep it back. So other threads keep back what the first one does not block, and
 * let it go first. A signal that is still there then is for the thread itself.
 *
 * Signals that have no handler take effect at once: they end the program or do nothing. SIGSEGV and
 * its like are for the library's own handler too, and cannot be kept back.
 *
 * A handler that is told who sent the signal (SA_SIGINFO), and other calls that tell it, hear of
 * the process id that programs see.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "turns.h"

#define ALL      UINT64_MAX
#define BIT(sig) (1ull << ((sig)-1)) /* of a set of signals, as the kernel has it */
#define FAULTS   (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE))

/* Only the thread that has the turn uses these. */
static bool stale = true;   /* handlers may have changed since they were looked at */
static uint64_t handled;    /* signals that have a handler */
static uint64_t restarting; /* those of them after which calls go on (SA_RESTART) */
/* What the first thread blocked when it waited last; all, if it has not waited or has ended. */
static uint64_t first_blocks = ALL;
static pthread_key_t first_key;
static bool has_key;

static __thread enum {
	HANDLER_NONE,
	HANDLER_RESTARTS,
	HANDLER_ENDS
} ran __attribute__((tls_model("initial-exec"))); /* at the end of the thread's last wait */

static void first_ends(void *unused)
{
	(void)unused;
	first_blocks = ALL;
}

/* A forked child has one thread, which may not have been the first. */
static void forget_first(void)
{
	first_blocks = ALL;
}

static void __attribute__((constructor)) handlers_begin(void)
{
	has_key = pthread_key_create(&first_key, first_ends) == 0;
	pthread_atfork(NULL, NULL, forget_first);
}

static bool is_first(void)
{
	return REAL(gettid)() == REAL(getpid)();
}

static void look_at_handlers(void)
{
	struct sigaction action;

	stale = false;
	handled = restarting = 0;
	for (int sig = 1; sig < _NSIG; sig++) {
		if ((BIT(sig) & FAULTS) || REAL(sigaction)(sig, NULL, &action) ||
		    action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)
			continue;
		handled |= BIT(sig);
		restarting |= action.sa_flags & SA_RESTART ? BIT(sig) : 0;
	}
}

static uint64_t set_blocked(int how, uint64_t set)
{
	uint64_t before = 0;

	REAL(syscall)(SYS_rt_sigprocmask, how, &set, &before, sizeof(set));
	return before;
}

bool turns_keep_back(bool ends, uint64_t *before)
{
	bool first;

	ran = HANDLER_NONE;
	if (stale)
		look_at_handlers();
	if (!handled)
		return false;
	first = is_first();
	*before = set_blocked(SIG_BLOCK, ends ? handled : first ? 0 : handled & ~first_blocks);
	if (first && first_blocks == ALL && has_key)
		pthread_setspecific(first_key, &first_key);
	if (first)
		first_blocks = *before;
	return true;
}

static uint64_t pending_of(uint64_t set)
{
	uint64_t pending = 0;

	REAL(syscall)(SYS_rt_sigpending, &pending, sizeof(pending));
	return pending & set;
}

/*
 * Pending signals that the first thread takes, if they are for the process: it is ready once it is
 * told, so it has had the turn when virtual time passes.
 */
static void await_first(uint64_t before)
{
	uint64_t set = handled & ~before & ~first_blocks, begin;

	if (!pending_of(set) || is_first())
		return;
	begin = turns_now();
	turns_tell(false);
	while (turns_pass(1) && pending_of(set) && turns_now() == begin)
		;
}

bool turns_let_in(uint64_t before)
{
	uint64_t pending;
	bool restarts;

	await_first(before);
	pending = pending_of(handled & ~before);
	/* A handler may change handlers, or be one for once (SA_RESETHAND). */
	stale |= pending != 0;
	/* Of several, the first to run decides, as in the kernel. */
	restarts = pending & -pending & restarting;
	set_blocked(SIG_SETMASK, before);
	ran = !pending ? HANDLER_NONE : restarts ? HANDLER_RESTARTS : HANDLER_ENDS;
	return pending;
}

bool turns_interrupted(bool restarts)
{
	if (ran == HANDLER_NONE || (restarts && ran == HANDLER_RESTARTS))
		return false;
	errno = EINTR;
	return true;
}

/* ---- who sent it ---- */

void turns_siginfo_shown(siginfo_t *info)
{
	bool of_child = info->si_signo == SIGCHLD && info->si_code > 0;

	if (of_child || info->si_code == SI_USER || info->si_code == SI_QUEUE ||
	    info->si_code == SI_TKILL || info->si_code == SI_MESGQ)
		info->si_pid = turns_pid_known(info->si_pid);
	else if (info->si_code == SI_TIMER)
		info->si_overrun = turns_timer_taken(info->si_timerid, info->si_overrun);
}

typedef void info_handler(int sig, siginfo_t *info, void *context);

/* The program's handlers, which show_info calls. */
static info_handler *told[_NSIG];

static void show_info(int sig, siginfo_t *info, void *context)
{
	int before = errno;

	turns_siginfo_shown(info);
	errno = before;
	told[sig](sig, info, context);
}

/* The program's own handler in place of show_info. */
static sighandler_t known_handler(int sig, sighandler_t handler)
{
	return handler == (sighandler_t)(void (*)(void))show_info
		       ? (sighandler_t)(void (*)(void))told[sig]
		       : handler;
}

/* ---- calls ---- */

static int act_shown(int sig, const struct sigaction *action, struct sigaction *old)
{
	info_handler *before = told[sig];
	struct sigaction copy = *action;
	int result;

	told[sig] = action->sa_sigaction;
	copy.sa_sigaction = show_info;
	result = REAL(sigaction)(sig, &copy, old);
	if (result)
		told[sig] = before;
	else if (old && old->sa_sigaction == show_info)
		old->sa_sigaction = before;
	return result;
}

static bool is_shown(int sig, const struct sigaction *action)
{
	return action && (action->sa_flags & SA_SIGINFO) && sig > 0 && sig < _NSIG &&
	       !(BIT(sig) & FAULTS) && action->sa_handler != SIG_DFL &&
	       action->sa_handler != SIG_IGN;
}

int turns_sigaction(int sig, const struct sigaction *action,
		    struct sigaction *old) __asm__("sigaction");
int turns_sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
	int result;

	stale |= action != NULL;
	if (is_shown(sig, action) && PROGRAM)
		return act_shown(sig, action, old);
	result = REAL(sigaction)(sig, action, old);
	if (result == 0 && old)
		old->sa_handler = known_handler(sig, old->sa_handler);
	return result;
}

sighandler_t turns_signal(int sig, sighandler_t handler) __asm__("signal");
sighandler_t turns_signal(int sig, sighandler_t handler)
{
	sighandler_t before = REAL(signal)(sig, handler);

	stale = true;
	return known_handler(sig, before);
}

/* As the headers call it in a program of standard C. */
sighandler_t turns_sysv_signal(int sig, sighandler_t handler) __asm__("__sysv_signal");
sighandler_t turns_sysv_signal(int sig, sighandler_t handler)
{
	sighandler_t before = REAL(__sysv_signal)(sig, handler);

	stale = true;
	return known_handler(sig, before);
}
