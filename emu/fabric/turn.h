/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn.h - the scheduler's state of a fabric in lockstep: the table of threads, and the one that
 * has the turn. It is part of the arena (layout.h); lockstep.h explains and declares what works on
 * it.
 */
#ifndef EMU_FABRIC_TURN_H
#define EMU_FABRIC_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/payload/stage.h"
#include "host/nic.h"
#include "limits.h"

enum emu_thread_state {
	EMU_THREAD_NONE,    /* the entry is free */
	EMU_THREAD_READY,   /* the thread has the turn, or can run when it gets it */
	EMU_THREAD_WAITING, /* for a completion, a wake, or virtual time `until` */
	EMU_THREAD_ENDING, /* it has the turn and exits: the helper passes the turn on afterwards */
	EMU_THREAD_AWAY,   /* it lost the turn, for it stayed in the program for too long */
};

/* Does the thread know that nothing can end its wait (NIC_WAIT_HOPELESS)? */
enum emu_thread_told {
	EMU_TOLD_NOT,
	EMU_TOLD_NOW, /* it has been given the turn to return that */
	EMU_TOLD
};

/* What a thread waits for outside the library (host/outside/outside.h). */
enum emu_thread_outside {
	EMU_OUTSIDE_NOT,
	EMU_OUTSIDE_TIMED, /* a descriptor, or virtual time */
	EMU_OUTSIDE_SOFT,  /* a descriptor: tested now and then, for which no time passes */
};

/* A registered thread. */
struct emu_thread {
	uint8_t state; /* enum emu_thread_state */
	uint8_t told;  /* enum emu_thread_told */
	uint16_t process;
	int32_t tid;
	uint32_t number; /* among the threads of its process, from 1; 0: none yet */
	uint32_t futex;  /* incremented when the thread gets the turn, or has to test again */
	uint32_t cq;     /* the wait ends with a new completion in this CQ; 0: in none */
	uint32_t cq_put; /* emu_cq.put when the wait began */
	uint64_t until;  /* or at this virtual time */
	uint64_t calls;  /* that it has made in turns of its own */
	uint8_t outside; /* enum emu_thread_outside, while it waits */
	uint8_t asleep;  /* it sleeps on its futex, or is about to: it has to be woken */
	uint16_t core;   /* on which it was when it gave up the turn */
};

struct emu_lockstep {
	uint8_t on;        /* a flag */
	uint8_t in_order;  /* so is this: ready threads follow one another, no seed chooses */
	uint32_t turn;     /* index of the thread that has it; 0: it is free */
	uint32_t calls;    /* made in this turn */
	uint32_t high;     /* highest entry of `thread` ever used */
	uint32_t away;     /* threads in EMU_THREAD_AWAY */
	uint64_t held;     /* time is stopped, for more processes are to join; 0: it runs */
	int32_t starter;   /* the process that stopped it last, to start programs; 0: none */
	uint64_t leaver;   /* the turn is kept until this process has ended; 0: none */
	uint64_t parent;   /* a child of this process is about to join; 0: none is */
	uint64_t activity; /* incremented with each call of the thread that has the turn */
	uint64_t random;   /* generator that chooses among ready threads */
	uint64_t last;     /* rank of the thread that had the turn last */
	uint64_t bound_ns; /* a thread with the turn that stays outside longer is away */
	/* Both clocks when the first thread went away: virtual time may not overtake real time. */
	uint64_t away_mono, away_now;
	uint32_t outside[EMU_PROCESSES + 1]; /* per process: threads that take no turns */
	struct emu_thread thread[EMU_THREADS + 1];
	struct nic_book book;
	struct emu_handed handed;
};

#endif /* EMU_FABRIC_TURN_H */
