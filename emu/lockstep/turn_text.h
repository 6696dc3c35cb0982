/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn_text.h - the order of turns in lockstep as text, the form in which DATSIM_TURNS passes it to
 * the programs of a fabric.
 *
 *   order client/1@12>server/1@3 client/2@40+5000@4
 *
 * Words are separated by blanks. "order" (threads that are ready follow one another in a fixed
 * order) or "seed" (the fabric's generator chooses) may be the first. Each other word is a switch:
 * when thread 1 of the node client makes its 12th call into the library, the turn is thread 1's of
 * the node server next, if that thread can run. With + the thread sleeps for so many nanoseconds at
 * the end of that call, as if the kernel had taken its processor away. The last number, which may
 * be missing, is the line where the switch was written; it is only copied to the trace.
 */
#ifndef EMU_TURN_TEXT_H
#define EMU_TURN_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#define EMU_TURN_NODE 21 /* a node's name and its NUL */
#define EMU_TURNS     64 /* switches of one process */

struct emu_turn {
	char from[EMU_TURN_NODE], to[EMU_TURN_NODE];
	uint32_t from_thread, to_thread; /* counted from 1 in each process */
	uint64_t call;                   /* counted from 1 in each thread */
	uint64_t pause_ns;               /* 0: there is a `to` */
	uint32_t line;                   /* 0: unknown */
};

/* Skip the first word, if it says so. Returns whether the order is fixed. */
bool emu_turn_order(const char **text);
/* Can all of it be read? If not, stderr says what was expected. NULL can. */
bool emu_turns_are_valid(const char *text);
/*
 * Read the switch at the beginning of *text and move *text past it. 0: there is none left; -EINVAL:
 * it is none, and *text is where it begins. Any text is safe.
 */
int emu_turn_next(const char **text, struct emu_turn *turn);

#endif /* EMU_TURN_TEXT_H */
