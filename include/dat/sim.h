/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * <dat/sim.h> - drive the simulated fabric underneath a uDAPL program.
 *
 * For C tests of uDAPL code: read and step the virtual clock, hold a message in the middle, run
 * until no event is pending, count the objects that were not freed, read the trace. Nothing here is
 * part of uDAPL; a program that uses only <dat/udat.h> runs on the simulation unchanged.
 *
 * Fabric. All emulated adapters of a process ("emu0", "emu1", ...) are on one fabric: one virtual
 * clock in nanoseconds, one queue of events, one seeded generator, one trace. The first dat_ia_open
 * creates it from the DATSIM_* environment and the last dat_ia_close ends it; or a test creates it
 * with dat_sim_create and ends it with dat_sim_destroy, and it stays while adapters are opened and
 * closed.
 *
 * Virtual time moves only when a thread waits (dat_evd_wait, dat_sim_advance, ...) or when a poll
 * finds nothing (an empty dat_evd_dequeue lets up to one poll quantum pass). The same program with
 * the same seed gives the same trace, byte for byte.
 *
 * Return values are DAT_RETURNs like all others: DAT_SUCCESS, or class | type | subtype. Every call
 * returns DAT_INVALID_HANDLE for an invalid handle, DAT_INVALID_PARAMETER for a NULL output or a
 * value out of range, and DAT_MODEL_NOT_SUPPORTED if the handle belongs to real hardware. A call
 * that fails changes nothing and writes nothing.
 */
#ifndef DAT_SIM_H
#define DAT_SIM_H

#include <stddef.h>
#include <dat/udat.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A fabric. Valid from dat_sim_create or dat_sim_of until it ends; afterwards DAT_INVALID_HANDLE.
 */
typedef DAT_HANDLE DAT_SIM_HANDLE;

/* The transport that the fabric imitates. */
typedef enum dat_sim_profile {
	DAT_SIM_PROFILE_IB = 0,		/* in order; an empty receive queue answers RNR */
	/* messages may overtake each other and take receive buffers as they arrive; no RNR */
	DAT_SIM_PROFILE_IWARP = 1
} DAT_SIM_PROFILE;

/* How the adapters are as unkind as devices may be: dat_sim(3), HOSTILE ADAPTERS. */
typedef enum dat_sim_hostile {
	DAT_SIM_HOSTILE_WATCH = 1,	/* watch=posted */
	DAT_SIM_HOSTILE_POISON = 2,	/* poison=on */
	DAT_SIM_HOSTILE_TAIL = 4,	/* placement=tail */
	DAT_SIM_HOSTILE_RANDOM = 8,	/* placement=random; not with TAIL */
	DAT_SIM_HOSTILE_ENDS = 16,	/* ends=device */
	DAT_SIM_HOSTILE_RETRY = 32,	/* retry=spurious */
	DAT_SIM_HOSTILE_SENT = 64	/* complete=sent */
} DAT_SIM_HOSTILE;

typedef struct dat_sim_config {
	DAT_SIM_PROFILE profile;	/* DATSIM_PROFILE=ib|iwarp; default ib */
	DAT_UINT64 seed;		/* DATSIM_SEED; default 1 */
	DAT_UINT64 latency_ns;		/* DATSIM_LATENCY_NS, every link, one way; default 1000 */
	/* DATSIM_BANDWIDTH_BPS, bits per second, 0 (no limit) or at least 1e6; default 100e9 */
	DAT_UINT64 bandwidth_bps;
	DAT_UINT32 mtu;			/* DATSIM_MTU, 256..65536 bytes of payload; default 4096 */
	DAT_UINT32 rnr_retry;		/* DATSIM_RNR_RETRY, 0..7, 7 = no limit; default 6 */
	DAT_UINT64 rnr_timer_ns;	/* DATSIM_RNR_TIMER_NS, before each retry; default 100000 */
	/* DATSIM_RETRY, 0..7: retransmissions of a packet that gets no answer; default 7 */
	DAT_UINT32 retry;
	/* DATSIM_RETRY_TIMER_NS, time without an answer before each, at least 1; default 1000000 */
	DAT_UINT64 retry_timer_ns;
	/* DATSIM_POLL_QUANTUM_NS, most that a poll which finds nothing lets pass; default 2000 */
	DAT_UINT64 poll_quantum_ns;
	DAT_BOOLEAN trace;		/* DATSIM_TRACE=FILE: written when the fabric ends */
	/* DATSIM_HOSTILE=watch=posted,poison=on...: a set of DAT_SIM_HOSTILE; default none */
	DAT_UINT32 hostile;
} DAT_SIM_CONFIG;

/*
 * Fill *config with the defaults, then with the values of the DATSIM_* environment.
 * DAT_INVALID_PARAMETER: an environment variable is invalid (stderr names it and the valid values).
 */
extern DAT_RETURN dat_sim_config_init(DAT_SIM_CONFIG *config);

/*
 * Create the process's fabric; adapters opened from now on join it. A NULL config stands for the
 * one that dat_sim_config_init makes. DAT_INVALID_STATE: the process has a fabric already, from
 * this call or from an open IA. DAT_INSUFFICIENT_RESOURCES: no memory for it.
 */
extern DAT_RETURN dat_sim_create(const DAT_SIM_CONFIG *config, DAT_SIM_HANDLE *sim);

/* End a fabric made by dat_sim_create. DAT_INVALID_STATE while an IA is open on it. */
extern DAT_RETURN dat_sim_destroy(DAT_SIM_HANDLE sim);

/*
 * The fabric of an open IA. For an IA on hardware the handle is good for dat_sim_call_fault_add,
 * dat_sim_fault_fired and dat_sim_fault_clear only; all other calls with a DAT_SIM_HANDLE return
 * DAT_MODEL_NOT_SUPPORTED.
 */
extern DAT_RETURN dat_sim_of(DAT_IA_HANDLE ia, DAT_SIM_HANDLE *sim);

/* Which backend carries an IA: "emu" or "hw". The string is static. */
extern DAT_RETURN dat_sim_backend(DAT_IA_HANDLE ia, const char **name);

/* ---- virtual time ---- */

/* Virtual nanoseconds since the fabric was created. No time passes. */
extern DAT_RETURN dat_sim_now(DAT_SIM_HANDLE sim, DAT_UINT64 *now_ns);

/*
 * The number of pending events (without held packets) and the time of the next; either may be NULL.
 */
extern DAT_RETURN dat_sim_pending(DAT_SIM_HANDLE sim, DAT_COUNT *events, DAT_UINT64 *next_ns);

/*
 * How many buffers this process has changed while an adapter owned them, from the post to the
 * completion: known with DAT_SIM_HOSTILE_WATCH, otherwise 0.
 */
extern DAT_RETURN dat_sim_violations(DAT_SIM_HANDLE sim, DAT_COUNT *count);

/*
 * Run only the next event; the clock moves to it. DAT_QUEUE_EMPTY (bare, ruling G1): there is none.
 * The time of a fabric that processes share passes by itself: the call waits for the next event.
 */
extern DAT_RETURN dat_sim_step(DAT_SIM_HANDLE sim);

/*
 * Let ns pass and run the events that become due; the clock ends exactly ns later, at most at 2^62.
 * DAT_ABORT: another thread ended the fabric meanwhile.
 */
extern DAT_RETURN dat_sim_advance(DAT_SIM_HANDLE sim, DAT_UINT64 ns);

/*
 * Run until no event is pending (held packets may remain held), at most limit_ns of virtual time.
 * DAT_TIMEOUT_EXPIRED: events were still pending; the clock has moved by limit_ns.
 */
extern DAT_RETURN dat_sim_run_until_quiet(DAT_SIM_HANDLE sim, DAT_UINT64 limit_ns);

/* ---- the wire ---- */

/* Set one direction of a link; packets in flight keep their times. Units as in DAT_SIM_CONFIG. */
extern DAT_RETURN dat_sim_set_link(DAT_SIM_HANDLE sim, const char *from, const char *to,
				   DAT_UINT64 latency_ns, DAT_UINT64 bandwidth_bps);

/*
 * Hold the packets on the link from adapter `from` to adapter `to`, of all kinds and in order,
 * until the link is released. The next `packets` packets still pass; 0 holds from now on. Adapters
 * are named as in dat_ia_open and must be open.
 */
extern DAT_RETURN dat_sim_hold_link(DAT_SIM_HANDLE sim, const char *from, const char *to,
				    DAT_COUNT packets);

/* Deliver the held packets of a link now, in order. A link that is not held is no error. */
extern DAT_RETURN dat_sim_release_link(DAT_SIM_HANDLE sim, const char *from, const char *to);

/*
 * Hold one message that `ep` sends, after `packets` of its packets have passed. `message` is its
 * number among the requests of the connection, counted from 1 (Sends, RDMA Writes, RDMA Read
 * requests, and binds, which are never sent). Profile iwarp: later messages overtake it and take
 * buffers before it. Profile ib: they wait behind it. The call may come before the message is
 * posted. At most 16 messages of an EP can be held at a time (DAT_INSUFFICIENT_RESOURCES).
 */
extern DAT_RETURN dat_sim_hold_message(DAT_EP_HANDLE ep, DAT_COUNT message, DAT_COUNT packets);

/* Release a held message. A message that is not held is no error. */
extern DAT_RETURN dat_sim_release_message(DAT_EP_HANDLE ep, DAT_COUNT message);

/* ---- faults ---- */

/* Kinds of packets. */
typedef enum dat_sim_packet {
	DAT_SIM_PACKET_SEND = 0x001,
	DAT_SIM_PACKET_WRITE = 0x002,
	DAT_SIM_PACKET_READ_REQUEST = 0x004,
	DAT_SIM_PACKET_READ_RESPONSE = 0x008,
	DAT_SIM_PACKET_ACK = 0x010,
	DAT_SIM_PACKET_NAK = 0x020,
	DAT_SIM_PACKET_RNR_NAK = 0x040,
	DAT_SIM_PACKET_CM = 0x080,		/* sets up a connection: request, reply ... */
	DAT_SIM_PACKET_DISCONNECT = 0x100	/* ends one, by a call or by an error */
} DAT_SIM_PACKET;

/* Which packet of a message; the only packet of one is both its first and its last. */
typedef enum dat_sim_part {
	DAT_SIM_PART_ANY = 0,
	DAT_SIM_PART_FIRST = 1,
	DAT_SIM_PART_LAST = 2
} DAT_SIM_PART;

typedef enum dat_sim_verdict {
	DAT_SIM_PASS = 0,	/* only count it */
	DAT_SIM_DROP = 1,
	DAT_SIM_CORRUPT = 2,	/* a wrong checksum: the receiver drops it */
	DAT_SIM_DELAY = 3,	/* by delay_ns; later packets of the link do not overtake it */
	DAT_SIM_REORDER = 4,	/* by delay_ns (0: the link's latency); later packets overtake it */
	DAT_SIM_DUPLICATE = 5,
	DAT_SIM_RNR = 6,	/* first packet of a Send: answered as if no Receive was posted */
	DAT_SIM_NAK = 7,	/* SEND, WRITE, READ_REQUEST: answered with the code `nak` */
	DAT_SIM_LINK_DOWN = 8,	/* it and all later packets in this direction are lost */
	DAT_SIM_LINK_UP = 9,	/* the link works again; this packet passes */
	DAT_SIM_HOST_DEAD = 10	/* its receiver neither sends nor receives from now on */
} DAT_SIM_VERDICT;

typedef enum dat_sim_nak_code {
	DAT_SIM_NAK_SEQUENCE = 0,		/* out of order: retransmit from this packet */
	DAT_SIM_NAK_INVALID_REQUEST = 1,	/* this and the next two break the connection */
	DAT_SIM_NAK_REMOTE_ACCESS = 2,
	DAT_SIM_NAK_REMOTE_OPERATION = 3,
	DAT_SIM_NAK_RESERVED = 4		/* an undefined code: DAT_DTO_ERR_BAD_RESPONSE */
} DAT_SIM_NAK_CODE;

/*
 * A rule: which packets it matches, and what happens to them. All criteria must match; one left 0
 * matches every packet, so that { .verdict = DAT_SIM_DROP } drops everything. The rules are applied
 * to a packet when it is about to arrive (to a retransmission again), in the order in which they
 * were added. The first rule that matches with a verdict other than PASS wins; later rules do not
 * see the packet.
 */
typedef struct dat_sim_fault {
	const char *from;		/* the sending adapter, "emu0"; it need not be open yet */
	const char *to;			/* the receiving adapter */
	DAT_EP_HANDLE from_ep;		/* the sending Endpoint; implies `from` */
	DAT_EP_HANDLE to_ep;		/* the receiving Endpoint */
	DAT_UINT32 packets;		/* DAT_SIM_PACKET bits; 0: all */
	DAT_SIM_PART part;
	DAT_UINT64 since_ns;		/* the virtual clock is at least this */
	DAT_UINT64 until_ns;		/* and before this; 0: no end */
	DAT_UINT64 after;		/* skip the first `after` matching packets */
	DAT_UINT64 nth;			/* of the rest, only the nth; 0: all */
	DAT_UINT64 every;		/* of the rest, every `every`th; 0: all */
	DAT_UINT32 probability;		/* of those, at random, in parts per million; 0: all */
	DAT_SIM_VERDICT verdict;
	DAT_SIM_NAK_CODE nak;		/* for DAT_SIM_NAK */
	DAT_UINT64 delay_ns;		/* for DAT_SIM_DELAY, DAT_SIM_REORDER */
	DAT_UINT64 jitter_ns;		/* delay_ns varies by up to this, uniformly */
	DAT_UINT64 times;		/* act at most this many times; 0: no limit */
} DAT_SIM_FAULT;

/*
 * Add a rule; *id is its number, from 1. While there are rules, every packet is simulated by
 * itself. DAT_INVALID_PARAMETER: a field out of range, an impossible adapter name, a handle that is
 * not an EP's, or RNR or NAK for packets that cannot be answered so. DAT_INSUFFICIENT_RESOURCES:
 * more than 256 rules.
 */
extern DAT_RETURN dat_sim_fault_add(DAT_SIM_HANDLE sim, const DAT_SIM_FAULT *fault, DAT_COUNT *id);

/* ---- faults of calls, completions, events and adapters ---- */

typedef enum dat_sim_call_verdict {
	DAT_SIM_CALL_PASS = 0,		/* only count it, and note it in the trace */
	DAT_SIM_CALL_FAIL = 1,		/* the call returns `error` and does nothing */
	DAT_SIM_COMPLETE_AS = 2,	/* a successful completion gets `status` */
	DAT_SIM_OVERFLOW = 3,		/* a successful completion finds its EVD full */
	DAT_SIM_EVENT_LOSE = 4,		/* the event is lost */
	DAT_SIM_EVENT_DELAY = 5,	/* the event comes delay_ns later */
	DAT_SIM_ADAPTER_FATAL = 6,	/* the adapter, if open, fails for good at since_ns */
	DAT_SIM_ADAPTER_REMOVE = 7,	/* the same, as its removal: programs of verbs see that */
	DAT_SIM_PORT_DOWN = 8,		/* its port is down from since_ns to until_ns */
	DAT_SIM_PROCESS_KILL = 9	/* SIGKILL ends the process that has it open at since_ns */
} DAT_SIM_CALL_VERDICT;

/* Kinds of completions, by their work request. */
typedef enum dat_sim_completion {
	DAT_SIM_COMPLETION_SEND = 0x01,
	DAT_SIM_COMPLETION_WRITE = 0x02,
	DAT_SIM_COMPLETION_READ = 0x04,
	DAT_SIM_COMPLETION_BIND = 0x08,
	DAT_SIM_COMPLETION_RECV = 0x10
} DAT_SIM_COMPLETION;

/* In place of an event's number: the wake-up of a waiter; any event that is not a completion. */
#define DAT_SIM_NOTIFICATION	((DAT_EVENT_NUMBER)0x20001)
#define DAT_SIM_ANY_EVENT	((DAT_EVENT_NUMBER)0x20002)

/*
 * A rule about the interface between the library and its adapter, emulated or real. Fields that the
 * verdict does not need are left 0; criteria match as in DAT_SIM_FAULT.
 *
 * FAIL: `call` is a call that needs the adapter, "post" for all calls that post, or "alloc" for the
 * allocations of memory for objects, each of which counts. Calls that make the same request of the
 * adapter share a rule: all calls that make an EP; dat_ep_connect and dat_ep_dup_connect;
 * dat_psp_create and dat_rsp_create.
 *
 * COMPLETE_AS: the effect is that of an error found by the adapter. The connection breaks, and
 * later work requests of the same queue of the Endpoint are flushed, even if the peer has received
 * them. The peer's view of the message does not change. OVERFLOW: the effect is that of a full EVD
 * (ruling E9).
 *
 * LOSE, DELAY: `event` is an event that comes from the adapter: a connection event (an Endpoint
 * whose DISCONNECTED or BROKEN is lost stays CONNECTED until it disconnects), a connection request
 * (the peer waits), a watermark event that a message causes, or DAT_SIM_NOTIFICATION. Completions
 * are never lost; a delayed completion delays the ones behind it on its EVD.
 *
 * FATAL: DAT_ASYNC_ERROR_IA_CATASTROPHIC is reported, every connection of the adapter breaks, and
 * every request to the adapter fails with DAT_INTERNAL_ERROR until it is closed; freeing objects
 * works. REMOVE is the same to DAT.
 *
 * DOWN: every packet from and to the adapter is lost. `until_ns` 0: until the rules are removed.
 *
 * KILL: the process ends in a call or wait of its own. Its peers on a shared fabric see what they
 * see of any process that dies.
 */
typedef struct dat_sim_call_fault {
	DAT_SIM_CALL_VERDICT verdict;
	const char *call;		/* FAIL, PASS: "dat_ep_post_send", "alloc", "post" */
	DAT_RETURN error;		/* FAIL: the type; 0: DAT_INSUFFICIENT_RESOURCES */
	/* COMPLETE_AS, OVERFLOW, DELAY, PASS: DAT_SIM_COMPLETION bits */
	DAT_UINT32 completions;
	DAT_DTO_COMPLETION_STATUS status;	/* COMPLETE_AS */
	DAT_EVENT_NUMBER event;		/* LOSE, DELAY, PASS */
	/* "emu0"; it need not be open yet unless `ep` is set; FATAL to KILL require it */
	const char *adapter;
	DAT_EP_HANDLE ep;		/* of this Endpoint only */
	DAT_UINT64 since_ns;
	DAT_UINT64 until_ns;
	DAT_UINT64 after;
	DAT_UINT64 nth;
	DAT_UINT64 every;
	DAT_UINT32 probability;
	DAT_UINT64 delay_ns;		/* DELAY */
	DAT_UINT64 times;
} DAT_SIM_CALL_FAULT;

/*
 * Add such a rule; *id is above 1000, so that it differs from the numbers of rules about packets.
 * The first matching rule with a verdict other than PASS wins. DAT_INVALID_PARAMETER: a field out
 * of range, a field that the verdict does not use, a call that does not need the adapter, an error
 * that the adapter cannot give it. DAT_INSUFFICIENT_RESOURCES: more than 256 rules, or no memory.
 */
extern DAT_RETURN dat_sim_call_fault_add(DAT_SIM_HANDLE sim, const DAT_SIM_CALL_FAULT *fault,
					 DAT_COUNT *id);

/* How often a rule acted (PASS: matched). DAT_INVALID_PARAMETER: no rule has that number. */
extern DAT_RETURN dat_sim_fault_fired(DAT_SIM_HANDLE sim, DAT_COUNT id, DAT_UINT64 *fired);

/*
 * Remove all rules; links that are down come up, and dead hosts work again. Rule numbers start
 * again from the beginning. Delayed packets and events still come, lost ones stay lost, and an
 * adapter that failed has to be closed.
 */
extern DAT_RETURN dat_sim_fault_clear(DAT_SIM_HANDLE sim);

/* ---- objects and names ---- */

#define DAT_SIM_ALL_HANDLE_TYPES ((DAT_HANDLE_TYPE) 0xff)

/* The number of objects of a type in this process; DAT_SIM_ALL_HANDLE_TYPES for the sum. */
extern DAT_RETURN dat_sim_count_objects(DAT_HANDLE_TYPE type, DAT_COUNT *count);

/* The trace's name of an object, such as "emu1.srq1", cut to `size` bytes including the NUL. */
extern DAT_RETURN dat_sim_name(DAT_HANDLE handle, char *name, size_t size);

/*
 * The dat.conf in use: *path is the file that was read, NULL if there is none; *adapters is the
 * number of its valid lines, *skipped that of its invalid ones. The string is valid until the next
 * call that opens or lists adapters. DAT_PROVIDER_NOT_FOUND: the file of DAT_OVERRIDE cannot be
 * read.
 */
extern DAT_RETURN dat_sim_dat_conf(const char **path, DAT_COUNT *adapters, DAT_COUNT *skipped);

/* ---- the trace ---- */

/* Start or stop recording the trace; recorded lines stay. */
extern DAT_RETURN dat_sim_trace(DAT_SIM_HANDLE sim, DAT_BOOLEAN on);

/*
 * Record the successes of calls that change nothing on the fabric, such as dat_srq_query, or not: a
 * checker that asks after each step of a test turns them off for its own. They are recorded at
 * first. In a shared fabric this is about the calls of this process.
 */
extern DAT_RETURN dat_sim_trace_queries(DAT_SIM_HANDLE sim, DAT_BOOLEAN on);

/*
 * The trace so far: header and lines, NUL-terminated, *length bytes without the NUL. The text
 * belongs to the fabric and is valid until the next call of any DAT or dat_sim function.
 */
extern DAT_RETURN dat_sim_trace_read(DAT_SIM_HANDLE sim, const char **text, size_t *length);

/*
 * Add a note to the trace, if it is being recorded. Control characters become blanks, and what is
 * beyond 511 bytes is cut.
 */
extern DAT_RETURN dat_sim_trace_note(DAT_SIM_HANDLE sim, const char *text);

/* ---- fabrics that several processes share (DATSIM_FABRIC=name) ---- */

#define DAT_SIM_FABRIC_NAME 49 /* bytes of a fabric's name at most, with its NUL */

/* A process that has joined the fabric. */
typedef struct dat_sim_member {
	DAT_UINT32 pid;
	DAT_COUNT adapters;		/* open ones */
	DAT_COUNT eps;
	DAT_COUNT listeners;
	/* one of its threads (in lockstep: all of them) is in dat_evd_wait or dat_cno_wait */
	DAT_BOOLEAN waiting;
	DAT_BOOLEAN stuck;		/* lockstep: deadlock, every thread waits */
	char node[32];			/* its name on the fabric */
	char address[48];		/* of its first adapter, as text; "": it has none */
} DAT_SIM_MEMBER;

/*
 * Make a fabric of that name, which exists until it is destroyed; programs join it with
 * DATSIM_FABRIC. NULL config: that of the environment. DAT_INVALID_STATE: it exists already.
 * DAT_PRIVILEGES_VIOLATION: other users have access to the folder of fabrics.
 * DAT_INSUFFICIENT_RESOURCES: no room for it.
 */
extern DAT_RETURN dat_sim_fabric_create(const char *name, const DAT_SIM_CONFIG *config);

/*
 * End a fabric and write its trace. DAT_INVALID_STATE: a process is still joined to it.
 * DAT_PROVIDER_NOT_FOUND: there is no fabric of that name.
 */
extern DAT_RETURN dat_sim_fabric_destroy(const char *name);

/*
 * Replace `name` by the name of the next fabric in alphabetical order; begin with "".
 * DAT_QUEUE_EMPTY: there is no further one.
 */
extern DAT_RETURN dat_sim_fabric_next(char *name, size_t size);

/*
 * Process number i, from 0. DAT_QUEUE_EMPTY: i is too large. DAT_PROVIDER_NOT_FOUND: no such
 * fabric.
 */
extern DAT_RETURN dat_sim_fabric_member(const char *name, DAT_COUNT i, DAT_SIM_MEMBER *member);

/*
 * On a fabric in lockstep (DATSIM_LOCKSTEP): stop its virtual time so that more processes can join,
 * or let it go on. Time also goes on when the calling process ends. While time stands still, each
 * process runs to its first wait. A process that joins while time moves is marked "preempted" in
 * the trace. DAT_PROVIDER_NOT_FOUND: no such fabric.
 */
extern DAT_RETURN dat_sim_fabric_hold(const char *name, DAT_BOOLEAN hold);

/*
 * Add a note to the trace of a fabric, if it is recorded, without taking part. Otherwise as
 * dat_sim_trace_note. DAT_PROVIDER_NOT_FOUND: no such fabric.
 */
extern DAT_RETURN dat_sim_fabric_note(const char *name, const char *text);

/*
 * Follow the trace of a fabric while programs use it: its lines since the last call with this
 * *reader, which is NULL at first; header first. The text has no NUL, and is valid until the next
 * call. *length 0: nothing is new. With a NULL name, free the reader. DAT_PROVIDER_NOT_FOUND: no
 * such fabric.
 */
extern DAT_RETURN dat_sim_fabric_trace(const char *name, void **reader, const char **text,
				       size_t *length);

#ifdef __cplusplus
}
#endif
#endif /* DAT_SIM_H */
