/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault.h - what the files of the decorator share; what it is for is in lib/nic_fault.h.
 *
 * rules.c decides what is spoilt, door.c fails calls, wait.c has time, cq.c passes completions on, and
 * later.c keeps what comes later or never. Objects are the backend's own and handed through as they are;
 * only completions wait in queues of ours on their way, so that they can be spoilt as they come.
 */
#ifndef FAULT_FAULT_H
#define FAULT_FAULT_H

#include <sys/queue.h>

#include "lib/nic.h"

struct fault_rule {
	struct nic_fault_rule match;
	uint64_t seen, fired;
};

enum fault_later_kind {
	FAULT_LATER_UPCALL, /* `upcall`, with what it brings */
	FAULT_LATER_LOST,   /* cq_lost of a completion that found no room */
	FAULT_LATER_READY,  /* a completion that was delayed is there */
	FAULT_LATER_FATAL   /* the adapter of rule `rule` fails */
};

struct fault_later {
	TAILQ_ENTRY(fault_later) link;
	uint64_t time; /* NIC_TIME_NEVER: lost, and kept because somebody has to answer for it */
	enum fault_later_kind kind;
	struct nic_fault_upcall upcall;
	struct nic_conn_param peer;
	unsigned char data[256]; /* private data of the peer */
	struct nic_cq *cq;
	struct nic_qp *qp;
	uint8_t opcode;
	uint32_t rule;
};

/* Completions on their way from the backend to lib. */
struct fault_cq {
	LIST_ENTRY(fault_cq) link;
	struct nic_cq *cq;
	struct fault_wc {
		struct nic_wc wc;
		uint64_t ready; /* not handed out before */
	} * ring;
	uint32_t room, get, put; /* a power of two; free-running */
	uint32_t limit;          /* lib's: cq_limit */
};

/* A QP one of whose completions was made a bad one: what follows it on that queue is flushed. */
struct fault_qp {
	LIST_ENTRY(fault_qp) link;
	struct nic_qp *qp;
	bool sends, receives;
};

/* An adapter that has failed. */
struct fault_dead {
	LIST_ENTRY(fault_dead) link;
	struct nic *nic;
};

struct nic_faults {
	struct nic_ops ops; /* first: fault_of */
	const struct nic_ops *below;
	struct nic *control;
	struct nic_fault_host host;
	uint64_t random;
	struct fault_rule rules[NIC_FAULT_RULES];
	uint32_t count;
	TAILQ_HEAD(, fault_later) later; /* by time, those of one time as they came */
	LIST_HEAD(, fault_cq) cqs;
	LIST_HEAD(, fault_qp) qps;
	LIST_HEAD(, fault_dead) dead;
};

static inline struct nic_faults *fault_of(const struct nic *nic)
{
	return nic_container_of(nic->ops, struct nic_faults, ops);
}

/* ---- rules.c ---- */

/* Which rule has something to do with it; NULL: it goes on. `at` is what the trace calls it. */
struct fault_rule *fault_match_entry(struct nic_faults *f, struct nic *nic, const struct nic_qp *qp,
				     uint32_t entry, const char *at);
struct fault_rule *fault_match_event(struct nic_faults *f, struct nic *nic, const void *qp_ctx,
				     uint32_t event, const char *at);
void fault_trace(struct nic_faults *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool fault_is_dead(const struct nic_faults *f, const struct nic *nic);

/* ---- later.c ---- */

/* A new one, zeroed, into the list; NULL: no memory. */
struct fault_later *fault_later_add(struct nic_faults *f, uint64_t time,
				    enum fault_later_kind kind);
uint64_t fault_later_next(const struct nic_faults *f);
uint32_t fault_later_count(const struct nic_faults *f);
/* All that is due by now. */
void fault_later_run(struct nic_faults *f);
/* Is the end of its connection known here and not above? Then it is told now. */
bool fault_later_end(struct nic_faults *f, const struct nic_qp *qp);
/* An object goes: what would come for it is forgotten, or told now where lib counts on it. */
void fault_later_forget_qp(struct nic_faults *f, const struct nic_qp *qp);
void fault_later_forget_ctx(struct nic_faults *f, const void *ctx);
/* Requests that a listener never heard of are turned away. */
void fault_later_unlisten(struct nic_faults *f, const struct nic_listener *listener);

/* ---- cq.c ---- */

/* Fetch what the backend has, and spoil it. */
void fault_cq_pull(struct nic_faults *f, struct nic_cq *cq);
void fault_cq_pull_all(struct nic_faults *f);
/* A number that differs once a completion was added. */
uint32_t fault_cq_put(struct nic_faults *f, struct nic_cq *cq);
void fault_qp_clean(struct nic_faults *f, const struct nic_qp *qp);
int fault_cq_poll(struct nic_cq *cq, struct nic_wc *wc, int n);
uint32_t fault_cq_count(struct nic_cq *cq);
void fault_cq_limit(struct nic_cq *cq, uint32_t n);
void fault_cq_destroy(struct nic_cq *cq);
void fault_cq_free_all(struct nic_faults *f);

/* ---- wait.c ---- */

bool fault_cq_spin(struct nic_cq *cq, struct nic_wc *wc);
enum nic_wait fault_wait(struct nic *nic, struct nic_cq *cq, uint64_t deadline);
bool fault_sim_step(struct nic *nic);
uint32_t fault_sim_pending(struct nic *nic, uint64_t *next_ns);

#endif /* FAULT_FAULT_H */
