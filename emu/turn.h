/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn.h - whose turn it is, in a fabric whose processes run in lockstep: a part of fabric.h. What is done
 * with it is in lockstep.h.
 */
#ifndef EMU_TURN_H
#define EMU_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "limits.h"

enum emu_thread_state {
	EMU_THREAD_NONE,
	EMU_THREAD_READY,   /* it has the turn, or goes on when it gets it */
	EMU_THREAD_WAITING, /* for something to happen, or for virtual time `until` */
	EMU_THREAD_ENDING, /* it has the turn, and ends: its process's helper passes it on when it is gone */
	EMU_THREAD_AWAY, /* it stayed outside for too long: the others go on without it */
};

/* Nothing can end its wait: is that known to it? */
enum emu_thread_told {
	EMU_TOLD_NOT,
	EMU_TOLD_NOW, /* it has the turn, to say so */
	EMU_TOLD
};

/* A thread that takes part. */
struct emu_thread {
	uint8_t state; /* enum emu_thread_state */
	uint8_t told;  /* enum emu_thread_told */
	uint16_t process;
	int32_t tid;
	uint32_t number;     /* among those of its process, from 1; 0: none yet */
	uint32_t bell;       /* a futex: it grows when the thread gets the turn, or is to look */
	uint32_t cq, cq_put; /* a completion more in this CQ is what it waits for; 0: in none */
	uint64_t until;
};

struct emu_lockstep {
	bool on;
	uint32_t turn;  /* the thread that has it, an index; 0: none has */
	uint32_t calls; /* that it has made since it has the turn */
	uint32_t high;  /* threads ever used */
	uint32_t away;  /* threads in that state */
	uint64_t held; /* time stands still, for more processes are to come: see emu_lockstep_held; 0: it runs */
	uint64_t looks;    /* grows with each call of whoever has the turn */
	uint64_t random;   /* who is next, of several that are ready */
	uint64_t bound_ns; /* who stays outside for longer is away */
	/* While threads are away time does not run ahead of the monotonic clock: then, and now of then. */
	uint64_t away_mono, away_now;
	uint32_t outside[EMU_PROCESSES + 1]; /* threads of each process that take no part */
	struct emu_thread thread[EMU_THREADS + 1];
};

#endif /* EMU_TURN_H */
