/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lock.h - the lock of a shared fabric: a robust futex, told to the kernel of whoever dies with it.
 *
 * A robust mutex of the C library would keep pointers in the arena, and follow them. Here all there is in the
 * arena is the word; the kernel learns of it by the one pointer that each thread has for a lock it is taking,
 * which stays set for as long as this one is held. Nothing that runs meanwhile takes a robust mutex.
 */
#ifndef EMU_LOCK_H
#define EMU_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Zero: free. Else, as the kernel has it, the thread that holds it, and whether others wait. */
struct emu_lock {
	uint32_t word;
};

/*
 * `process`: of the calling thread, for it may be a forked one. False: whoever had it died with it, or what the
 * word says is nonsense; it is held all the same.
 */
bool emu_lock_take(struct emu_lock *lock, int32_t process);
void emu_lock_release(struct emu_lock *lock);

#endif /* EMU_LOCK_H */
