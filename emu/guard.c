/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * guard.c - the copy that can fail, and the actions for SIGSEGV and SIGBUS behind it: guard.h says
 * why and how.
 */
#include "guard.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#if EMU_GUARDED

/* ---- the copy ---- */

/*
 * emu_guard_copy_raw(to: %rdi, from: %rsi, length: %rdx), and emu_guard_exit, where the handler
 * sends it after a fault. Nothing here uses the stack, so both return by a plain ret.
 *
 * Up to 64 bytes are loaded before the first is stored: then it does not matter whether the ranges
 * overlap, nor whether the loads do, of which two of the same width cover any length up to twice
 * that width. Longer payloads go in steps of 64 bytes and end as such a short one; in which
 * direction depends on how the ranges overlap. From 4096 bytes the processor's own copy is faster.
 */
__asm__(".pushsection .text.emu_guard, \"ax\", @progbits\n"
	".balign 64\n"
	".globl emu_guard_copy_raw\n"
	".globl emu_guard_stream_raw\n"
	".hidden emu_guard_stream_raw\n"
	".hidden emu_guard_copy_raw, emu_guard_exit, emu_guard_end_of_copy\n"
	".globl emu_guard_exit, emu_guard_end_of_copy\n"
	".type emu_guard_copy_raw, @function\n"
	"emu_guard_copy_raw:\n"
	".cfi_startproc\n"
	"	cmp	$64, %rdx\n"
	"	ja	.Llong\n"
	".Lshort:\n"
	"	cmp	$32, %rdx\n"
	"	jbe	.Lup_to_32\n"
	"	movups	(%rsi), %xmm0\n"
	"	movups	16(%rsi), %xmm1\n"
	"	movups	-32(%rsi,%rdx), %xmm2\n"
	"	movups	-16(%rsi,%rdx), %xmm3\n"
	"	movups	%xmm0, (%rdi)\n"
	"	movups	%xmm1, 16(%rdi)\n"
	"	movups	%xmm2, -32(%rdi,%rdx)\n"
	"	movups	%xmm3, -16(%rdi,%rdx)\n"
	"	xor	%eax, %eax\n"
	"	ret\n"
	".Lup_to_32:\n"
	"	cmp	$16, %rdx\n"
	"	jb	.Lbelow_16\n"
	"	movups	(%rsi), %xmm0\n"
	"	movups	-16(%rsi,%rdx), %xmm1\n"
	"	movups	%xmm0, (%rdi)\n"
	"	movups	%xmm1, -16(%rdi,%rdx)\n"
	"	xor	%eax, %eax\n"
	"	ret\n"
	".Lbelow_16:\n"
	"	cmp	$8, %rdx\n"
	"	jb	.Lbelow_8\n"
	"	mov	(%rsi), %rax\n"
	"	mov	-8(%rsi,%rdx), %rcx\n"
	"	mov	%rax, (%rdi)\n"
	"	mov	%rcx, -8(%rdi,%rdx)\n"
	"	xor	%eax, %eax\n"
	"	ret\n"
	".Lbelow_8:\n"
	"	cmp	$4, %rdx\n"
	"	jb	.Lbelow_4\n"
	"	mov	(%rsi), %eax\n"
	"	mov	-4(%rsi,%rdx), %ecx\n"
	"	mov	%eax, (%rdi)\n"
	"	mov	%ecx, -4(%rdi,%rdx)\n"
	"	xor	%eax, %eax\n"
	"	ret\n"
	".Lbelow_4:\n"
	"	test	%rdx, %rdx\n"
	"	jz	.Ldone\n"
	"	movzbl	(%rsi), %eax\n"
	"	movzbl	-1(%rsi,%rdx), %ecx\n"
	"	shr	$1, %rdx\n" /* 1, 2, 3 bytes: the middle one is number 0, 1, 1 */
	"	movzbl	(%rsi,%rdx), %r8d\n"
	"	mov	%r8b, (%rdi,%rdx)\n"
	"	mov	%al, (%rdi)\n"
	"	adc	%rdx, %rdx\n" /* the length again, but for moves, which leave the carry */
	"	mov	%cl, -1(%rdi,%rdx)\n"
	".Ldone:\n"
	"	xor	%eax, %eax\n"
	"	ret\n"
	".Llong:\n"
	"	mov	%rdi, %rax\n"
	"	sub	%rsi, %rax\n"
	"	cmp	%rdx, %rax\n"
	"	jb	.Lbackward\n" /* the target begins inside the source */
	"	cmp	$4096, %rdx\n"
	"	jae	.Lrep\n"
	".Lforward:\n"
	"	movups	(%rsi), %xmm0\n"
	"	movups	16(%rsi), %xmm1\n"
	"	movups	32(%rsi), %xmm2\n"
	"	movups	48(%rsi), %xmm3\n"
	"	movups	%xmm0, (%rdi)\n"
	"	movups	%xmm1, 16(%rdi)\n"
	"	movups	%xmm2, 32(%rdi)\n"
	"	movups	%xmm3, 48(%rdi)\n"
	"	add	$64, %rsi\n"
	"	add	$64, %rdi\n"
	"	sub	$64, %rdx\n"
	"	cmp	$64, %rdx\n"
	"	ja	.Lforward\n"
	"	jmp	.Lshort\n"
	".Lrep:\n"
	"	mov	%rdx, %rcx\n"
	"	shr	$3, %rcx\n"
	"	rep movsq\n"
	"	and	$7, %edx\n"
	"	jmp	.Lbelow_8\n"
	".Lbackward:\n"
	"	movups	-16(%rsi,%rdx), %xmm0\n"
	"	movups	-32(%rsi,%rdx), %xmm1\n"
	"	movups	-48(%rsi,%rdx), %xmm2\n"
	"	movups	-64(%rsi,%rdx), %xmm3\n"
	"	movups	%xmm0, -16(%rdi,%rdx)\n"
	"	movups	%xmm1, -32(%rdi,%rdx)\n"
	"	movups	%xmm2, -48(%rdi,%rdx)\n"
	"	movups	%xmm3, -64(%rdi,%rdx)\n"
	"	sub	$64, %rdx\n"
	"	cmp	$64, %rdx\n"
	"	ja	.Lbackward\n"
	"	jmp	.Lshort\n"
	"emu_guard_stream_raw:\n"
	"	cmp	$64, %rdx\n"
	"	jbe	.Lstreamed\n"
	"	movups	(%rsi), %xmm0\n"
	"	movups	16(%rsi), %xmm1\n"
	"	movups	32(%rsi), %xmm2\n"
	"	movups	48(%rsi), %xmm3\n"
	"	movntps	%xmm0, (%rdi)\n"
	"	movntps	%xmm1, 16(%rdi)\n"
	"	movntps	%xmm2, 32(%rdi)\n"
	"	movntps	%xmm3, 48(%rdi)\n"
	"	add	$64, %rsi\n"
	"	add	$64, %rdi\n"
	"	sub	$64, %rdx\n"
	"	jmp	emu_guard_stream_raw\n"
	".Lstreamed:\n"
	"	sfence\n"
	"	jmp	.Lshort\n"
	"emu_guard_end_of_copy:\n"
	"emu_guard_exit:\n" /* the result is in %rax already */
	"	ret\n"
	".cfi_endproc\n"
	".size emu_guard_copy_raw, . - emu_guard_copy_raw\n"
	".popsection\n");

extern const char emu_guard_exit[], emu_guard_end_of_copy[];

static bool is_in_copy(const ucontext_t *at)
{
	uintptr_t ip = (uintptr_t)at->uc_mcontext.gregs[REG_RIP];

	return ip >= (uintptr_t)emu_guard_copy_raw && ip < (uintptr_t)emu_guard_end_of_copy;
}

/* The copy returns the address that faulted. */
static void leave_copy(ucontext_t *at, const siginfo_t *info)
{
	uintptr_t fault = (uintptr_t)info->si_addr;

	at->uc_mcontext.gregs[REG_RAX] = (greg_t)(fault ? fault : EMU_GUARD_UNKNOWN);
	at->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)emu_guard_exit;
}

/* ---- the actions ---- */

static struct guarded_signal {
	int number;
	bool ours;               /* our action was installed, and not removed since */
	struct sigaction before; /* the program's */
} guarded[] = { { .number = SIGSEGV }, { .number = SIGBUS }, { .number = 0 /* the end */ } };

static unsigned int fabrics; /* that have registered memory */

/*
 * The actions belong to the process, while each fabric has a lock of its own. So these few system
 * calls have one more, which holds the pid of its holder: a forked child finds its parent's there
 * if another thread held the lock at the fork, and takes it.
 */
static _Atomic pid_t changing;

static void lock_actions(void)
{
	pid_t self = getpid(), holder = 0;

	while (!atomic_compare_exchange_weak(&changing, &holder, self)) {
		if (holder == self) {
			sched_yield();
			holder = 0;
		}
	}
}

static void unlock_actions(void)
{
	atomic_store(&changing, 0);
}

static struct guarded_signal *guarded_signal(int number)
{
	return number == SIGSEGV ? &guarded[0] : &guarded[1];
}

/*
 * No handler: a fault happens again with the default action, which ends the program where it
 * faulted. A signal that was sent (si_code <= 0) is sent again.
 */
static void pass_to_default(int number, const siginfo_t *info)
{
	signal(number, SIG_DFL);
	if (info->si_code <= 0)
		raise(number);
}

/* Call the program's handler as the kernel would have. Its mask ends with this handler. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	struct sigaction before = guarded_signal(number)->before;
	bool ignored = before.sa_handler == SIG_IGN && !(before.sa_flags & SA_SIGINFO);

	if (ignored && info->si_code <= 0)
		return;
	if (ignored || (before.sa_handler == SIG_DFL && !(before.sa_flags & SA_SIGINFO))) {
		pass_to_default(number, info);
		return;
	}
	if (before.sa_flags & SA_RESETHAND)
		guarded_signal(number)->before = (struct sigaction){ .sa_handler = SIG_DFL };
	if (!(before.sa_flags & SA_NODEFER))
		sigaddset(&before.sa_mask, number);
	pthread_sigmask(SIG_BLOCK, &before.sa_mask, NULL);
	if (before.sa_flags & SA_SIGINFO)
		before.sa_sigaction(number, info, context);
	else
		before.sa_handler(number);
}

/* SA_NODEFER: whether the signal is blocked while the program's handler runs, that decides. */
static void on_fault(int number, siginfo_t *info, void *context)
{
	if (info->si_code > 0 && is_in_copy(context))
		leave_copy(context, info);
	else
		pass_on(number, info, context);
}

static void install_actions(void)
{
	const struct sigaction action = { .sa_sigaction = on_fault,
					  .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };

	for (struct guarded_signal *s = guarded; s->number; s++) {
		/* The program's action, which replaced ours at that time, may call ours. */
		if (s->ours)
			continue;
		if (sigaction(s->number, NULL, &s->before) == 0 &&
		    sigaction(s->number, &action, NULL) == 0)
			s->ours = true;
	}
}

static void restore_actions(void)
{
	for (struct guarded_signal *s = guarded; s->number; s++) {
		struct sigaction now;

		if (!s->ours || sigaction(s->number, NULL, &now) != 0)
			continue;
		if (!(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != on_fault)
			continue;
		if (sigaction(s->number, &s->before, NULL) == 0)
			s->ours = false;
	}
}

void emu_guard_begin(void)
{
	lock_actions();
	if (fabrics++ == 0)
		install_actions();
	unlock_actions();
}

void emu_guard_end(void)
{
	lock_actions();
	if (--fabrics == 0)
		restore_actions();
	unlock_actions();
}

#else

uint64_t emu_guard_copy_raw(void *to, const void *from, uint64_t length)
{
	memmove(to, from, length);
	return 0;
}

uint64_t emu_guard_stream_raw(void *to, const void *from, uint64_t length)
{
	return emu_guard_copy_raw(to, from, length);
}

void emu_guard_begin(void)
{
}

void emu_guard_end(void)
{
}

#endif
