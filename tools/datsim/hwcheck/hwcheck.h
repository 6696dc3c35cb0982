/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hwcheck.h - checks of an adapter. Each check runs in a process of its own, so that neither a
 * crash nor a hang in one ends the others. It opens the adapter twice and connects the two sides
 * with each other. It passes by returning; probe_fail and probe_skip end its process.
 */
#ifndef DATSIM_HWCHECK_H
#define DATSIM_HWCHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dat/udat.h>

#define PROBE_SLOT     4096 /* bytes of a buffer */
#define PROBE_SLOTS    64
#define PROBE_LONG     (PROBE_SLOT * 32) /* the longest message, over the last buffers */
#define PROBE_EVENT_US 10000000          /* the longest wait for an event */

struct probe_side {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, recv, request, connect, cr;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
	DAT_EP_HANDLE ep;
	unsigned char *memory;
};

struct probe {
	const char *device;
	bool quick;
	uint64_t until_ns;      /* of CLOCK_MONOTONIC: a check that repeats itself ends by then */
	struct probe_side a, b; /* a connects, b listens */
	DAT_SRQ_HANDLE srq;     /* of b */
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_IA_ATTR attr;
	bool iwarp;
	DAT_COUNT private_most;
};

/* ---- hwcheck_process.c ---- */

enum probe_verdict {
	PROBE_PASS = 'P',
	PROBE_FAIL = 'F',
	PROBE_SKIP = 'S'
};
struct probe_answer {
	enum probe_verdict verdict;
	uint64_t result;
	char text[2000]; /* "": nothing to say */
};
/* Runs it in a process of its own, for at most so many seconds. */
void probe_run(struct probe *c, void (*run)(struct probe *c), unsigned int seconds,
	       struct probe_answer *answer);

/* In that process: */
_Noreturn void probe_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void probe_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What the line of a check that passes says beside its name. */
void probe_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A number for the command, beside the text. */
void probe_result(uint64_t result);
/* Fails the check unless ret is DAT_SUCCESS. */
void probe_call(DAT_RETURN ret, const char *call);
#define MUST(call) probe_call((call), #call)
uint64_t probe_now_ns(void);

/* ---- hwcheck_pair.c: two sides ---- */
void probe_open(struct probe *c);
void probe_close(struct probe *c);
DAT_EP_HANDLE probe_ep(struct probe_side *side, DAT_SRQ_HANDLE srq);
/* Connects a.ep to b.ep, which exist. */
void probe_connect(struct probe *c);
/* Both, and two new Endpoints; b's receives from c->srq, if there is one. */
void probe_pair(struct probe *c);
void probe_disconnect(struct probe *c);
DAT_EVENT probe_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, const char *what);
/* A completion of this cookie; its length. */
DAT_VLEN probe_completion(DAT_EVD_HANDLE evd, DAT_UINT64 cookie, const char *what);
DAT_LMR_TRIPLET probe_segment(const struct probe_side *side, int slot, DAT_VLEN length);
DAT_RMR_TRIPLET probe_remote(const struct probe_side *side, int slot, DAT_VLEN length);
DAT_DTO_COOKIE probe_cookie(int n);
void probe_recv(struct probe *c, int slot, DAT_VLEN length);
void probe_send(struct probe *c, int slot, DAT_VLEN length);
/* A message of this length from slot 0 of a arrives in the Receive posted in slot `to` of b. */
void probe_message(struct probe *c, int to, DAT_VLEN length);
void probe_fill(struct probe_side *side, int slot, DAT_VLEN length, int seed);
void probe_holds(const struct probe_side *side, int slot, DAT_VLEN length, int seed,
		 const char *what);

/* ---- the checks ---- */
struct hwcheck_row {
	const char *title;
	void (*run)(struct probe *c);
};
extern const struct hwcheck_row hwcheck_data[], hwcheck_queues[]; /* end with a row of NULLs */

#endif
