/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault.h - shared by the files of the fault layer, whose interface is host/nic_fault.h.
 *
 * rules.c matches rules, door.c fails calls, cq.c passes completions on, later.c holds delayed and
 * lost events, and wait.c merges the times of delayed events into those of the backend. Objects
 * belong to the backend and are passed through unchanged; only completions are fetched into queues
 * of this layer, so that rules apply to them as soon as they exist.
 */
#ifndef FAULT_FAULT_H
#define FAULT_FAULT_H

#include <sys/queue.h>

#include "host/nic.h"

struct fault_rule {
	struct nic_fault_rule match;
	uint64_t seen, fired;
};

enum fault_later_kind {
	FAULT_LATER_UPCALL, /* `upcall`, with its data */
	FAULT_LATER_LOST,   /* cq_lost for a completion that an overflow rule dropped */
	FAULT_LATER_READY,  /* cq_notify: a delayed completion can be polled now */
	FAULT_LATER_FATAL,  /* the adapter of rule `rule` fails */
	FAULT_LATER_KILL,   /* the process of that adapter ends */
	FAULT_LATER_DOWN,   /* the port of that adapter goes down */
	FAULT_LATER_UP      /* and comes up again */
};

struct fault_later {
	TAILQ_ENTRY(fault_later) link;
	/*
	 * NIC_TIME_NEVER: lost, kept because lib must still end its object; or a port that stays
	 * down.
	 */
	uint64_t time;
	enum fault_later_kind kind;
	struct nic_fault_upcall upcall;
	struct nic_conn_param peer;
	unsigned char data[256]; /* private data of the peer */
	struct nic_cq *cq;
	struct nic_qp *qp;
	uint8_t opcode;
	uint32_t rule;
	struct fault_dead *dead; /* of FAULT_LATER_FATAL; made with the rule, which may fail */
	char adapter[NIC_ADAPTER_NAME]; /* of FAULT_LATER_UP: the rule may have been removed */
};

/* Completions on their way from the backend to lib. */
struct fault_cq {
	LIST_ENTRY(fault_cq) link;
	struct nic_cq *cq;
	struct fault_wc {
		struct nic_wc wc;
		uint64_t ready; /* cannot be polled before this time */
	} * ring;
	uint32_t room;     /* entries of the ring, a power of two */
	uint32_t get, put; /* free-running */
	uint32_t limit;    /* set by lib with cq_limit */
};

/* A QP with a completion that a rule made fail: later ones of the same work queue are flushed. */
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
	uint64_t random; /* state of its own generator: the fabric's draws stay the same */
	struct fault_rule rules[NIC_FAULT_RULES];
	uint32_t count;
	TAILQ_HEAD(, fault_later)
	later; /* by time; entries of the same time in order of insertion */
	LIST_HEAD(, fault_cq) cqs;
	LIST_HEAD(, fault_qp) qps;
	LIST_HEAD(, fault_dead) dead;
};

static inline struct nic_faults *fault_of(const struct nic *nic)
{
	return nic_container_of(nic->ops, struct nic_faults, ops);
}

/* ---- rules.c ---- */

/* The rule that applies to a call or an event; NULL: none. `at` is its name in the trace. */
struct fault_rule *fault_match_entry(struct nic_faults *f, struct nic *nic, const struct nic_qp *qp,
				     uint32_t entry, const char *at);
struct fault_rule *fault_match_event(struct nic_faults *f, struct nic *nic, const void *qp_ctx,
				     uint32_t event, const char *at);
void fault_trace(struct nic_faults *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool fault_is_dead(const struct nic_faults *f, const struct nic *nic);

/*
 * A rule applied, and there is no memory to carry it out. Left out in silence, the run would pass
 * for one with the fault: the rule does not count, and the adapter fails.
 */
void fault_no_memory(struct nic_faults *f, struct fault_rule *rule, struct nic *nic);

/* ---- later.c ---- */

/* Add a zeroed entry to the list; NULL: no memory. */
struct fault_later *fault_later_add(struct nic_faults *f, uint64_t time,
				    enum fault_later_kind kind);
uint64_t fault_later_next(const struct nic_faults *f);
/*
 * An entry was added, perhaps by an event during a wait in lockstep, which ends with what the NIC
 * itself brings: threads that wait look at the list again.
 */
void fault_later_wake(struct nic_faults *f, struct nic *nic);
uint32_t fault_later_count(const struct nic_faults *f);
/* Run all entries that are due. */
void fault_later_run(struct nic_faults *f);
void fault_later_drop(struct nic_faults *f, struct fault_later *later);
/* All rules are removed: forget what adapters were to meet, and bring their ports up. */
void fault_later_heal(struct nic_faults *f);
/*
 * If the end of the QP's connection is held here, lost or delayed, report it now. False: it is not.
 */
bool fault_later_end(struct nic_faults *f, const struct nic_qp *qp);
/* An object is being destroyed: drop its entries, or run them now if lib's counts need them. */
void fault_later_forget_qp(struct nic_faults *f, const struct nic_qp *qp);
void fault_later_forget_ctx(struct nic_faults *f, const void *ctx);
/* Reject the connection requests that are held here for a listener. */
void fault_later_unlisten(struct nic_faults *f, const struct nic_listener *listener);

/* ---- cq.c ---- */

/* Fetch the backend's completions and apply the rules to them. */
void fault_cq_pull(struct nic_faults *f, struct nic_cq *cq);
void fault_cq_pull_all(struct nic_faults *f);
/* A counter that changes when a completion is added. */
uint32_t fault_cq_put(struct nic_faults *f, struct nic_cq *cq);
/*
 * A QP is reset: its completions that cannot be polled yet vanish. Returns the number of Receives
 * among them.
 */
uint32_t fault_cq_forget_qp(struct nic_faults *f, const struct nic_qp *qp);
void fault_qp_clean(struct nic_faults *f, const struct nic_qp *qp);
int fault_cq_poll(struct nic_cq *cq, struct nic_wc *wc, int n);
uint32_t fault_cq_count(struct nic_cq *cq);
void fault_cq_limit(struct nic_cq *cq, uint32_t n);
/* The queue of a new CQ. False: no memory. */
bool fault_cq_begin(struct nic_cq *cq, uint32_t limit);
void fault_cq_destroy(struct nic_cq *cq);
void fault_cq_free_all(struct nic_faults *f);

/* ---- wait.c ---- */

bool fault_cq_spin(struct nic_cq *cq, struct nic_wc *wc);
enum nic_wait fault_wait(struct nic *nic, struct nic_cq *cq, uint64_t deadline);
bool fault_sim_step(struct nic *nic);
uint32_t fault_sim_pending(struct nic *nic, uint64_t *next_ns);

#endif /* FAULT_FAULT_H */
