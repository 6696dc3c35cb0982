/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * guard.h - copies payload to and from registered memory, which the program may have unmapped or
 * protected since.
 *
 * An adapter that meets such memory fails the request. Here the processor faults in the middle of a
 * copy, and without more the program would die of a SIGSEGV in this library, or, where a file was
 * truncated, of a SIGBUS. There are three ways to survive that:
 *
 * - to ask before each copy (mincore, process_vm_readv on oneself): a system call a message, and
 *   another thread may unmap the memory between question and copy;
 * - to note before each copy where to go on, as setjmp does: a dozen instructions a message;
 * - to know it from the address of the instruction that faulted: nothing a message. The kernel
 *   copies from and to user memory this way, and so does this module.
 *
 * emu_guard_copy is one piece of assembler that never touches the stack. If a signal handler finds
 * the processor between its first and its last instruction, it sets the instruction pointer to that
 * piece's exit and the result to the address that faulted; the call returns as usual, and the
 * caller fails the request. The copy may have been made in part, as on an adapter.
 *
 * So this library has to handle SIGSEGV and SIGBUS, which belong to the program. It does so from
 * the first registration of memory until the end of the fabric, and takes no fault but its own:
 *
 * - Any other fault is passed on to the action that was there before, with the same arguments,
 *   blocked signals and flags. Where that was the default, it is restored and the instruction runs
 *   again, so the core shows the program's own fault.
 * - The end of the fabric restores the earlier actions, unless the program has set others since.
 * - A program that sets an action after its first registration replaces this one. If it passes on
 *   what it does not know, as it should, all goes on working; else it gets the faults of copies,
 *   too. Nothing is installed a second time over an action of the program.
 * - A thread that blocks SIGSEGV dies of its first fault, whatever handler there is: so the kernel
 *   wants it. The library's own threads leave both signals unblocked.
 *
 * Other processors than x86-64 have no such piece yet; there a copy is a memmove.
 *
 * Lock: emu_guard_begin and emu_guard_end take one of their own, behind the backend's.
 */
#ifndef EMU_GUARD_H
#define EMU_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __x86_64__
#define EMU_GUARDED 1
#else
#define EMU_GUARDED 0
#endif

#define EMU_GUARD_UNKNOWN UINT64_MAX /* the processor did not say which address it was */

/* Handle faults of copies from now on; a fabric calls both once. */
void emu_guard_begin(void);
void emu_guard_end(void);

/* The assembler. */
__attribute__((visibility("hidden"))) uint64_t emu_guard_copy_raw(void *to, const void *from,
								  uint64_t length);
__attribute__((visibility("hidden"))) uint64_t emu_guard_stream_raw(void *to, const void *from,
								    uint64_t length);

/* What a sanitizer would see of a memmove, it has to be told about here. */
#if defined(__SANITIZE_ADDRESS__)
#define EMU_GUARD_ADDRESS
#elif defined(__SANITIZE_THREAD__)
#define EMU_GUARD_THREAD
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMU_GUARD_ADDRESS
#elif __has_feature(thread_sanitizer)
#define EMU_GUARD_THREAD
#endif
#endif

/* Functions of the sanitizers' libraries, as gcc declares them. */
#ifdef EMU_GUARD_ADDRESS
void __asan_loadN(void *at, long size);
void __asan_storeN(void *at, long size);
#define EMU_GUARD_READ  __asan_loadN
#define EMU_GUARD_WRITE __asan_storeN
#elif defined(EMU_GUARD_THREAD)
void __tsan_read_range(void *at, long size);
void __tsan_write_range(void *at, long size);
#define EMU_GUARD_READ  __tsan_read_range
#define EMU_GUARD_WRITE __tsan_write_range
#endif

static inline void emu_guard_report(void *to, const void *from, uint64_t length)
{
#ifdef EMU_GUARD_READ
	EMU_GUARD_READ((void *)(uintptr_t)from, (long)length);
	EMU_GUARD_WRITE(to, (long)length);
#else
	(void)to;
	(void)from;
	(void)length;
#endif
}

/* As memmove. 0, or the address at which the copy faulted. */
static inline uint64_t emu_guard_copy(void *to, const void *from, uint64_t length)
{
	emu_guard_report(to, from, length);
	return emu_guard_copy_raw(to, from, length);
}

/* The same with non-temporal stores; the target is aligned to 16, and there is no overlap. */
static inline uint64_t emu_guard_stream(void *to, const void *from, uint64_t length)
{
	emu_guard_report(to, from, length);
	return emu_guard_stream_raw(to, from, length);
}

/* Does a fault at this address concern that end of the copy? */
static inline bool emu_guard_is_in(uint64_t fault, const void *end, uint64_t length)
{
	return fault - (uintptr_t)end < length;
}

#endif /* EMU_GUARD_H */
