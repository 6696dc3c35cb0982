/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fault.h - the decorator of faults: what fault/ can make fail, and how lib asks for it.
 *
 * Part of nic.h, which includes it, and as free of DAT. A struct nic_faults wraps the two tables of
 * one world: `ops`, which lib calls in place of the backend's, and a verdict on each upcall, which
 * lib's upcall functions request before they do anything (nic_fault_upcall). lib installs it with
 * the first rule, by exchanging nic.ops and nic.up of every adapter (so a backend must read them
 * anew each time), and keeps it until the world ends. Without rules there is no decorator and no
 * cost.
 *
 * Everything here is called with the backend's lock held.
 */
#ifndef HOST_NIC_FAULT_H
#define HOST_NIC_FAULT_H

struct nic_faults;

/* Entries of nic_ops that can fail. Bits. */
enum nic_entry {
	NIC_ENTRY_PD_ALLOC = 1u << 0,
	NIC_ENTRY_MR_REG = 1u << 1,
	NIC_ENTRY_MW_ALLOC = 1u << 2,
	NIC_ENTRY_CQ_CREATE = 1u << 3,
	NIC_ENTRY_CQ_RESIZE = 1u << 4,
	NIC_ENTRY_SRQ_CREATE = 1u << 5,
	NIC_ENTRY_SRQ_RESIZE = 1u << 6,
	NIC_ENTRY_QP_CREATE = 1u << 7,
	NIC_ENTRY_QP_MODIFY = 1u << 8,
	NIC_ENTRY_LISTEN = 1u << 9,
	NIC_ENTRY_CONNECT = 1u << 10,
	NIC_ENTRY_ACCEPT = 1u << 11,
	NIC_ENTRY_HANDOFF = 1u << 12,
	NIC_ENTRY_POST_SEND = 1u << 13, /* post_send, by opcode */
	NIC_ENTRY_POST_WRITE = 1u << 14,
	NIC_ENTRY_POST_READ = 1u << 15,
	NIC_ENTRY_POST_BIND = 1u << 16,
	NIC_ENTRY_POST_RECV = 1u << 17,
	NIC_ENTRY_SRQ_POST = 1u << 18,
	NIC_ENTRY_MEMORY = 1u << 19,     /* lib's own allocations: nic_fault_memory */
	NIC_ENTRY_LISTEN_ANY = 1u << 20, /* listen, if the backend picks the port */
	NIC_ENTRY_CALL = 1u << 21,       /* a call of the front, by its number: nic_fault_call */
	NIC_ENTRY_SRQ_LIMIT = 1u << 22,
	NIC_ENTRY_ALL = (1u << 23) - 1
};

#define NIC_ENTRY_POSTS                                                                \
	((uint32_t)(NIC_ENTRY_POST_SEND | NIC_ENTRY_POST_WRITE | NIC_ENTRY_POST_READ | \
		    NIC_ENTRY_POST_BIND | NIC_ENTRY_POST_RECV | NIC_ENTRY_SRQ_POST))
/* Entries that may run out of memory: all that create something, and lib's own allocations. */
#define NIC_ENTRY_MAKERS                                                             \
	((uint32_t)NIC_ENTRY_ALL & ~(NIC_ENTRY_POSTS | (uint32_t)NIC_ENTRY_HANDOFF | \
				     (uint32_t)NIC_ENTRY_CALL | (uint32_t)NIC_ENTRY_SRQ_LIMIT))

/* Meanings of an alarm that a front tells apart. */
#define NIC_ALARMS 3

/* Events that a rule can act on: completions by opcode, then upcalls. Bits. */
enum nic_event {
	NIC_EVENT_WC = 1u << 0, /* << enum nic_opcode */
	NIC_EVENT_WC_ALL = (1u << NIC_OP_COUNT) - 1,
	NIC_EVENT_WC_DAT = (2u << NIC_OP_RECV) - 1, /* of requests that DAT has */
	NIC_EVENT_NOTIFY = 1u << 8,
	NIC_EVENT_SRQ_LIMIT = 1u << 9,
	NIC_EVENT_SOFT_LIMIT = 1u << 10,
	NIC_EVENT_CONN_REQUEST = 1u << 11,
	NIC_EVENT_ESTABLISHED = 1u << 12,
	NIC_EVENT_END = 1u << 13, /* << enum nic_conn_end */
	NIC_EVENT_END_ALL = ((1u << NIC_END_COUNT) - 1) << 13,
	NIC_EVENT_ALARM = 1u << 20, /* of a QP; << what it means to the front (front_ops.alarm) */
	NIC_EVENT_ALARM_ALL = ((1u << NIC_ALARMS) - 1) << 20,
};

#define NIC_EVENT_UPCALLS                                                                \
	((uint32_t)(NIC_EVENT_NOTIFY | NIC_EVENT_SRQ_LIMIT | NIC_EVENT_SOFT_LIMIT |      \
		    NIC_EVENT_CONN_REQUEST | NIC_EVENT_ESTABLISHED | NIC_EVENT_END_ALL | \
		    NIC_EVENT_ALARM_ALL))

enum nic_spoil {
	NIC_SPOIL_PASS,     /* counted and traced, nothing else */
	NIC_SPOIL_FAIL,     /* entries: the call fails with `error` and has no effect */
	NIC_SPOIL_STATUS,   /* completions: a successful one gets `status`; the connection breaks */
	NIC_SPOIL_OVERFLOW, /* completions: lost, as if its queue was full */
	NIC_SPOIL_LOSE,     /* events: lost */
	NIC_SPOIL_DELAY,    /* events: delivered delay_ns later */
	NIC_SPOIL_FATAL,    /* neither: the adapter fails at since_ns, permanently */
	NIC_SPOIL_REMOVE,   /* the same, and it is said to be removed */
	NIC_SPOIL_DOWN,     /* the adapter's port is down from since_ns to until_ns */
	NIC_SPOIL_KILL,     /* neither: at since_ns SIGKILL ends the process of the adapter */
	NIC_SPOIL_COUNT
};

#define NIC_FAULT_ID0   1000u /* ids start at this + 1, above those of packet rules */
#define NIC_FAULT_RULES 256u

/*
 * A rule sees its matches in the order in which they happen; the first rule that acts on one wins,
 * and later rules do not see it. Fields as in nic_packet_rule; one left 0 matches everything.
 */
struct nic_fault_rule {
	uint32_t spoil;   /* enum nic_spoil */
	uint32_t entries; /* enum nic_entry, for PASS and FAIL */
	uint32_t call;    /* of NIC_ENTRY_CALL: which one, by a number of the front's */
	uint32_t events;  /* enum nic_event, for the others */
	char adapter[NIC_ADAPTER_NAME];
	uint32_t qp; /* by nic_fault_host.qp_name; then only entries and events of a QP match */
	uint64_t since_ns, until_ns, after, nth, every;
	uint32_t probability; /* by the decorator's own generator */
	uint64_t times;
	int32_t error;   /* FAIL: a negative errno */
	uint32_t status; /* STATUS: enum nic_wc_status or above NIC_WC_OWN, not SUCCESS */
	uint64_t delay_ns;
};

/* What the decorator needs from lib. */
struct nic_fault_host {
	const char *(*adapter_name)(const struct nic *nic);
	/* nic_qp_init.name, and *noun as the word that it is */
	uint32_t (*qp_name)(const void *qp_ctx, const char **noun);
	/* The adapter of that name, if it is open. */
	struct nic *(*adapter)(void *host_ctx, const char *name);
	/* The process is about to be killed, and to be started again. */
	void (*restarts)(void *host_ctx);
	const struct nic_upcalls *up; /* gets the upcalls that pass */
	void *ctx;
};

/*
 * Make a decorator of `below`, which outlives it; `control` is any nic of the world. NULL: out of
 * memory.
 */
struct nic_faults *nic_fault_create(const struct nic_ops *below, struct nic *control,
				    const struct nic_fault_host *host, uint64_t seed);
/* Called when every adapter is closed. */
void nic_fault_destroy(struct nic_faults *fault);
const struct nic_ops *nic_fault_ops(struct nic_faults *fault);

/* An adapter is open; it may be one whose port is down. */
void nic_fault_opened(struct nic_faults *fault, struct nic *nic);

/*
 * For a thread that waits in another way than by the door: the time of the next delayed event,
 * failure or end of the process; and run those whose time has come.
 */
uint64_t nic_fault_due(const struct nic_faults *fault);
void nic_fault_run(struct nic_faults *fault);

/* -EINVAL: a field out of range; -ENOMEM: one rule too many. *id counts from NIC_FAULT_ID0 + 1. */
int nic_fault_add(struct nic_faults *fault, const struct nic_fault_rule *rule, uint32_t *id);
/* -ENOENT: no such rule. */
int nic_fault_fired(struct nic_faults *fault, uint32_t id, uint64_t *fired);
/*
 * Remove all rules. Delayed events still come, lost events stay lost, a failed adapter stays
 * failed; ports that are down come up.
 */
void nic_fault_clear(struct nic_faults *fault);

/*
 * The error with which a call of a front is to fail, before it does anything; 0: none. qp_ctx: of
 * the QP that the call is about, or NULL. `name` is the call's in the trace.
 */
int nic_fault_call(struct nic_faults *fault, struct nic *nic, const void *qp_ctx, uint32_t call,
		   const char *name);

/* False: this allocation of lib is to fail. `where` names it in the trace. */
bool nic_fault_memory(struct nic_faults *fault, struct nic *nic, const char *where);

/* An upcall, with the arguments that its kind has. */
struct nic_fault_upcall {
	uint32_t event; /* enum nic_event, one bit */
	struct nic *nic;
	void *ctx;                         /* the upcall's */
	struct nic_conn *conn;             /* CONN_REQUEST */
	const struct nic_conn_param *peer; /* ESTABLISHED; may be NULL */
};

/* True: lib does nothing now. A delayed upcall comes later through host.up. */
bool nic_fault_upcall(struct nic_faults *fault, const struct nic_fault_upcall *upcall);

#endif /* HOST_NIC_FAULT_H */
