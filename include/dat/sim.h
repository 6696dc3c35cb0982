/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * <dat/sim.h> - drive the simulated fabric underneath a uDAPL program.
 *
 * For people who write C tests of their own uDAPL code: read and step the virtual clock, hold a
 * message half way, wait until nothing more can happen, count what was left behind, read the trace.
 * Nothing here is part of uDAPL; a program that uses only <dat/udat.h> runs on the simulation
 * unchanged.
 *
 * Fabric. All emulated adapters of a process ("emu0", "emu1", ...) live on one fabric: one virtual
 * clock in nanoseconds, one queue of events, one seeded generator, one trace. The first dat_ia_open
 * creates it from the DATSIM_* environment and the last dat_ia_close ends it; or a test creates it
 * with dat_sim_create and ends it with dat_sim_destroy, and it stays while adapters come and go.
 *
 * Time moves only when somebody waits (dat_evd_wait, dat_sim_advance, ...) or polls in vain (an empty
 * dat_evd_dequeue lets up to one poll quantum pass). Same program, same seed: same trace, byte for
 * byte.
 *
 * Return values are DAT_RETURNs built as all others are: DAT_SUCCESS, or class | type | subtype. Every
 * call gives DAT_INVALID_HANDLE for a handle that is none, DAT_INVALID_PARAMETER for a NULL output or a
 * value out of range, and DAT_MODEL_NOT_SUPPORTED where the handle belongs to real hardware. A call
 * that fails changes nothing and writes nothing.
 */
#ifndef DAT_SIM_H
#define DAT_SIM_H

#include <stddef.h>
#include <dat/udat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A fabric. Valid from dat_sim_create or dat_sim_of until it ends; afterwards DAT_INVALID_HANDLE. */
typedef DAT_HANDLE DAT_SIM_HANDLE;

/* How the wire behaves; each is a row of data in the emulator, not a branch in the code. */
typedef enum dat_sim_profile {
	DAT_SIM_PROFILE_IB = 0,		/* in order; an empty receive queue answers RNR */
	DAT_SIM_PROFILE_IWARP = 1	/* messages may overtake and take buffers as they arrive; no RNR */
} DAT_SIM_PROFILE;

typedef struct dat_sim_config {
	DAT_SIM_PROFILE profile;	/* DATSIM_PROFILE=ib|iwarp; default ib */
	DAT_UINT64 seed;		/* DATSIM_SEED; default 1 */
	DAT_UINT64 latency_ns;		/* DATSIM_LATENCY_NS, every link, one way; default 1000 */
	DAT_UINT64 bandwidth_bps;	/* DATSIM_BANDWIDTH_BPS, bits per second; default 100e9; 0 = no limit, else >= 1e6 */
	DAT_UINT32 mtu;			/* DATSIM_MTU, payload bytes a packet, 256..65536; default 4096 */
	DAT_UINT32 rnr_retry;		/* DATSIM_RNR_RETRY, 0..7, 7 = for ever; default 6 */
	DAT_UINT64 rnr_timer_ns;	/* DATSIM_RNR_TIMER_NS, pause before each retry; default 100000 */
	DAT_UINT32 retry;		/* DATSIM_RETRY, 0..7: a packet without an answer is sent again; default 7 */
	DAT_UINT64 retry_timer_ns;	/* DATSIM_RETRY_TIMER_NS, after so long without one, >= 1; default 1000000 */
	DAT_UINT64 poll_quantum_ns;	/* DATSIM_POLL_QUANTUM_NS, most that one vain poll lets pass; 2000 */
	DAT_BOOLEAN trace;		/* DATSIM_TRACE=FILE: record, and write FILE when the fabric ends */
} DAT_SIM_CONFIG;

/*
 * Fill *config with the defaults, then with what the DATSIM_* environment says.
 * DAT_INVALID_PARAMETER: an environment value makes no sense (stderr says which, and what would).
 */
extern DAT_RETURN dat_sim_config_init(DAT_SIM_CONFIG *config);

/*
 * Create the process's fabric; adapters opened from now on join it. NULL config: as
 * dat_sim_config_init leaves it. DAT_INVALID_STATE: one exists already (created, or by an open IA).
 * DAT_INSUFFICIENT_RESOURCES: no memory for it.
 */
extern DAT_RETURN dat_sim_create(const DAT_SIM_CONFIG *config, DAT_SIM_HANDLE *sim);

/* End a fabric made by dat_sim_create. DAT_INVALID_STATE while an IA is open on it. */
extern DAT_RETURN dat_sim_destroy(DAT_SIM_HANDLE sim);

/*
 * The fabric behind an open IA. Of an IA on hardware: what is behind it takes the faults of
 * dat_sim_call_fault_add; all other calls that want a DAT_SIM_HANDLE answer DAT_MODEL_NOT_SUPPORTED.
 */
extern DAT_RETURN dat_sim_of(DAT_IA_HANDLE ia, DAT_SIM_HANDLE *sim);

/* Which backend carries an IA: "emu" or "hw". The string is static. */
extern DAT_RETURN dat_sim_backend(DAT_IA_HANDLE ia, const char **name);

/* ---- virtual time ---- */

/* Virtual nanoseconds since the fabric was created. Moves nothing. */
extern DAT_RETURN dat_sim_now(DAT_SIM_HANDLE sim, DAT_UINT64 *now_ns);

/* How many events wait (held packets not counted) and when the next is due; either may be NULL. */
extern DAT_RETURN dat_sim_pending(DAT_SIM_HANDLE sim, DAT_COUNT *events, DAT_UINT64 *next_ns);

/* Run exactly the next event; the clock moves to it. DAT_QUEUE_EMPTY (bare, as G1): there is none. */
extern DAT_RETURN dat_sim_step(DAT_SIM_HANDLE sim);

/*
 * Let ns pass: run all that is due until then; the clock ends exactly ns later, and never beyond 2^62.
 * DAT_ABORT: another thread ended the fabric meanwhile.
 */
extern DAT_RETURN dat_sim_advance(DAT_SIM_HANDLE sim, DAT_UINT64 ns);

/*
 * Run until no event is pending (held packets may remain held), at most limit_ns of virtual time.
 * DAT_TIMEOUT_EXPIRED: still busy then; the clock has moved by limit_ns.
 */
extern DAT_RETURN dat_sim_run_until_quiet(DAT_SIM_HANDLE sim, DAT_UINT64 limit_ns);

/* ---- the wire ---- */

/* Set one direction of one link; packets already under way keep their time. Units as in the config. */
extern DAT_RETURN dat_sim_set_link(DAT_SIM_HANDLE sim, const char *from, const char *to,
				   DAT_UINT64 latency_ns, DAT_UINT64 bandwidth_bps);

/*
 * After `packets` more packets have arrived over the link from adapter `from` to adapter `to`, hold
 * all that follow (data, acknowledgements, connection set-up alike), in order, until released. 0: from
 * now on. Adapters are named as in dat_ia_open and must be open.
 */
extern DAT_RETURN dat_sim_hold_link(DAT_SIM_HANDLE sim, const char *from, const char *to,
				    DAT_COUNT packets);

/* Let what the link holds arrive now, in order, and hold no more. Not held: success, no effect. */
extern DAT_RETURN dat_sim_release_link(DAT_SIM_HANDLE sim, const char *from, const char *to);

/*
 * Hold one message that `ep` sends: `message` counts its requests on the connection from 1 (Sends, RDMA
 * Writes, requests of RDMA Reads, and binds, which never travel), `packets` of it pass first. Profile iwarp: later messages overtake it (and take buffers before it). Profile
 * ib: they wait behind it. May be called before the message is posted. At most 16 messages of an EP
 * are held at a time (DAT_INSUFFICIENT_RESOURCES).
 */
extern DAT_RETURN dat_sim_hold_message(DAT_EP_HANDLE ep, DAT_COUNT message, DAT_COUNT packets);

/* Let a held message go on. Not held: success, no effect. */
extern DAT_RETURN dat_sim_release_message(DAT_EP_HANDLE ep, DAT_COUNT message);

/* ---- faults ---- */

/* What a packet is. */
typedef enum dat_sim_packet {
	DAT_SIM_PACKET_SEND = 0x001,
	DAT_SIM_PACKET_WRITE = 0x002,
	DAT_SIM_PACKET_READ_REQUEST = 0x004,
	DAT_SIM_PACKET_READ_RESPONSE = 0x008,
	DAT_SIM_PACKET_ACK = 0x010,
	DAT_SIM_PACKET_NAK = 0x020,
	DAT_SIM_PACKET_RNR_NAK = 0x040,
	DAT_SIM_PACKET_CM = 0x080,		/* request, reply and what else sets up a connection */
	DAT_SIM_PACKET_DISCONNECT = 0x100	/* what ends one, by a program or by an error */
} DAT_SIM_PACKET;

/* Which packet of its message; one alone is the first and the last. */
typedef enum dat_sim_part {
	DAT_SIM_PART_ANY = 0,
	DAT_SIM_PART_FIRST = 1,
	DAT_SIM_PART_LAST = 2
} DAT_SIM_PART;

typedef enum dat_sim_verdict {
	DAT_SIM_PASS = 0,	/* only count it */
	DAT_SIM_DROP = 1,
	DAT_SIM_CORRUPT = 2,	/* a wrong check sum: who receives it drops it */
	DAT_SIM_DELAY = 3,	/* by delay_ns; what follows on the link does not overtake it */
	DAT_SIM_REORDER = 4,	/* by delay_ns (0: once more the latency); what follows overtakes it */
	DAT_SIM_DUPLICATE = 5,
	DAT_SIM_RNR = 6,	/* a Send, its first packet: answered as if there was no buffer */
	DAT_SIM_NAK = 7,	/* SEND, WRITE, READ_REQUEST: answered by the code `nak` */
	DAT_SIM_LINK_DOWN = 8,	/* lost, and all that follow in this direction of the link */
	DAT_SIM_LINK_UP = 9,	/* the link works again; this packet passes */
	DAT_SIM_HOST_DEAD = 10	/* the adapter it was for is silent from now on, both ways */
} DAT_SIM_VERDICT;

typedef enum dat_sim_nak_code {
	DAT_SIM_NAK_SEQUENCE = 0,		/* a packet before it is missing: send again from here */
	DAT_SIM_NAK_INVALID_REQUEST = 1,	/* these three break the connection */
	DAT_SIM_NAK_REMOTE_ACCESS = 2,
	DAT_SIM_NAK_REMOTE_OPERATION = 3,
	DAT_SIM_NAK_RESERVED = 4		/* a code nobody knows: DAT_DTO_ERR_BAD_RESPONSE */
} DAT_SIM_NAK_CODE;

/*
 * A rule: which packets, and what becomes of them. All matches must fit; one left 0 fits every packet, so
 * that { .verdict = DAT_SIM_DROP } is the end of all communication. A packet meets the rules when it is
 * about to arrive (a packet that is sent again meets them again), in the order in which they were added;
 * the first whose verdict is not PASS wins, and those behind it do not see the packet.
 */
typedef struct dat_sim_fault {
	const char *from;		/* "emu0": the adapter that sends it; it need not be open yet */
	const char *to;			/* the adapter it is for */
	DAT_EP_HANDLE from_ep;		/* the Endpoint that sends it (its adapter is `from` then) */
	DAT_EP_HANDLE to_ep;		/* the Endpoint it is for */
	DAT_UINT32 packets;		/* DAT_SIM_PACKET bits; 0: all */
	DAT_SIM_PART part;
	DAT_UINT64 since_ns;		/* while the virtual clock is at or past this */
	DAT_UINT64 until_ns;		/* and before this; 0: no end */
	DAT_UINT64 after;		/* of these packets, not the first `after` */
	DAT_UINT64 nth;			/* of the rest, the nth alone; 0: all */
	DAT_UINT64 every;		/* of the rest, every so-manieth; 0: all */
	DAT_UINT32 probability;		/* of those, so many in a million; 0: all */
	DAT_SIM_VERDICT verdict;
	DAT_SIM_NAK_CODE nak;		/* for DAT_SIM_NAK */
	DAT_UINT64 delay_ns;		/* for DAT_SIM_DELAY, DAT_SIM_REORDER */
	DAT_UINT64 jitter_ns;		/* so much less or more, evenly spread */
	DAT_UINT64 times;		/* act so often at most; 0: no limit */
} DAT_SIM_FAULT;

/*
 * Add a rule; *id names it, from 1. While there are rules every packet is looked at by itself.
 * DAT_INVALID_PARAMETER: a field out of range, a name no adapter can have, a handle that is no EP's, or RNR
 * and NAK for packets that are none of their kind. DAT_INSUFFICIENT_RESOURCES: more than 256 rules.
 */
extern DAT_RETURN dat_sim_fault_add(DAT_SIM_HANDLE sim, const DAT_SIM_FAULT *fault, DAT_COUNT *id);

/* ---- faults of calls, completions, events and adapters ---- */

typedef enum dat_sim_call_verdict {
	DAT_SIM_CALL_PASS = 0,		/* only count it, and say so in the trace */
	DAT_SIM_CALL_FAIL = 1,		/* it returns `error` and nothing happens */
	DAT_SIM_COMPLETE_AS = 2,	/* a completion that is good becomes one with `status` */
	DAT_SIM_OVERFLOW = 3,		/* a completion that is good finds its EVD full */
	DAT_SIM_EVENT_LOSE = 4,		/* it never comes */
	DAT_SIM_EVENT_DELAY = 5,	/* it comes delay_ns later */
	DAT_SIM_ADAPTER_FATAL = 6	/* at since_ns the adapter fails for good, if it is open then */
} DAT_SIM_CALL_VERDICT;

/* Whose completion. */
typedef enum dat_sim_completion {
	DAT_SIM_COMPLETION_SEND = 0x01,
	DAT_SIM_COMPLETION_WRITE = 0x02,
	DAT_SIM_COMPLETION_READ = 0x04,
	DAT_SIM_COMPLETION_BIND = 0x08,
	DAT_SIM_COMPLETION_RECV = 0x10
} DAT_SIM_COMPLETION;

/* In place of an event's number: waking up who waits, and every event that is no completion. */
#define DAT_SIM_NOTIFICATION	((DAT_EVENT_NUMBER)0x20001)
#define DAT_SIM_ANY_EVENT	((DAT_EVENT_NUMBER)0x20002)

/*
 * A rule about what happens between the library and its adapter, whatever adapter that is. What the
 * verdict does not need is left 0; matches are as in DAT_SIM_FAULT.
 *
 * FAIL. `call` is a call that needs the adapter, "post" for all that post, or "alloc": memory for any
 * object, where each piece counts by itself. Calls that are one to the adapter fail as one: an EP is an EP,
 * whoever makes it; connects and duplicate connects are one; so are dat_psp_create and dat_rsp_create.
 *
 * COMPLETE_AS. As if the adapter had found it: the connection breaks, and what completes after it on the
 * same queue of the Endpoint is flushed, whether or not the peer had it. The peer's view of that message
 * stays what it is. OVERFLOW: as if the EVD were full (ruling E9).
 *
 * LOSE, DELAY. `event` is one that comes from the adapter: a connection event (one that an end of the
 * connection is lost with stays CONNECTED until it disconnects), a connection request (the peer waits),
 * a watermark event that a message brings about, DAT_SIM_NOTIFICATION. Completions are never lost;
 * delayed ones hold up those behind them on their EVD.
 *
 * FATAL. DAT_ASYNC_ERROR_IA_CATASTROPHIC, every connection of the adapter breaks, and whatever it is
 * asked for until it is closed gives DAT_INTERNAL_ERROR; freeing works.
 */
typedef struct dat_sim_call_fault {
	DAT_SIM_CALL_VERDICT verdict;
	const char *call;		/* FAIL, PASS: "dat_ep_post_send", "alloc", "post" */
	DAT_RETURN error;		/* FAIL: the type; 0: DAT_INSUFFICIENT_RESOURCES */
	DAT_UINT32 completions;		/* COMPLETE_AS, OVERFLOW, DELAY, PASS: DAT_SIM_COMPLETION bits */
	DAT_DTO_COMPLETION_STATUS status;	/* COMPLETE_AS */
	DAT_EVENT_NUMBER event;		/* LOSE, DELAY, PASS */
	const char *adapter;		/* "emu0"; it need not be open yet, but for an EP; FATAL needs it */
	DAT_EP_HANDLE ep;		/* on this Endpoint */
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
 * Add such a rule; *id is above 1000, so that it is never the number of one about packets. The first that
 * does something wins. DAT_INVALID_PARAMETER: a field out of range, fields that do not belong to the
 * verdict, a call that does not need the adapter, an error that it cannot have from there.
 * DAT_INSUFFICIENT_RESOURCES: more than 256 rules, or no memory.
 */
extern DAT_RETURN dat_sim_call_fault_add(DAT_SIM_HANDLE sim, const DAT_SIM_CALL_FAULT *fault,
					 DAT_COUNT *id);

/* How often a rule acted (PASS: how often it fitted). DAT_INVALID_PARAMETER: no rule has that number. */
extern DAT_RETURN dat_sim_fault_fired(DAT_SIM_HANDLE sim, DAT_COUNT id, DAT_UINT64 *fired);

/*
 * Remove all rules; links that are down come up, hosts that are dead speak again. Numbers start anew. What
 * is delayed comes, what is lost stays lost, and an adapter that failed has to be closed.
 */
extern DAT_RETURN dat_sim_fault_clear(DAT_SIM_HANDLE sim);

/* ---- what is there ---- */

#define DAT_SIM_ALL_HANDLE_TYPES ((DAT_HANDLE_TYPE) 0xff)

/* Objects of a type alive in this process, over all adapters; DAT_SIM_ALL_HANDLE_TYPES for the sum. */
extern DAT_RETURN dat_sim_count_objects(DAT_HANDLE_TYPE type, DAT_COUNT *count);

/* The name an object has in the trace, such as "emu1.srq1", cut to fit `size` bytes with its NUL. */
extern DAT_RETURN dat_sim_name(DAT_HANDLE handle, char *name, size_t size);

/*
 * The dat.conf in force: *path is the file that was read, NULL if there is none; *adapters of its lines
 * name an adapter, *skipped of them make no sense. The string is valid until the next call that opens an
 * adapter or lists them. DAT_PROVIDER_NOT_FOUND: DAT_OVERRIDE names what cannot be read.
 */
extern DAT_RETURN dat_sim_dat_conf(const char **path, DAT_COUNT *adapters, DAT_COUNT *skipped);

/* ---- the trace ---- */

/* Record from now on (or stop); what was recorded stays. */
extern DAT_RETURN dat_sim_trace(DAT_SIM_HANDLE sim, DAT_BOOLEAN on);

/*
 * The trace so far: header and lines, NUL-terminated, *length bytes without the NUL. The text belongs
 * to the fabric and is valid until the next call of any DAT or dat_sim function.
 */
extern DAT_RETURN dat_sim_trace_read(DAT_SIM_HANDLE sim, const char **text, size_t *length);

/* Put a line of one's own into the trace (control characters become blanks), if it is recorded. */
extern DAT_RETURN dat_sim_trace_note(DAT_SIM_HANDLE sim, const char *text);

/* ---- fabrics that several processes share (DATSIM_FABRIC=name) ---- */

#define DAT_SIM_FABRIC_NAME 49 /* bytes of a fabric's name at most, with its NUL */

/* A process that takes part. */
typedef struct dat_sim_member {
	DAT_UINT32 pid;
	DAT_COUNT adapters;		/* open ones */
	DAT_COUNT eps;
	DAT_COUNT listeners;
	DAT_BOOLEAN waiting;		/* one of its threads is in dat_evd_wait or dat_cno_wait; in lockstep: all */
	DAT_BOOLEAN stuck;		/* in lockstep: they wait for ever, and so do those of all others */
	char node[32];			/* its name there */
	char address[48];		/* of its first adapter, as text; "": it has none */
} DAT_SIM_MEMBER;

/*
 * Make a fabric of that name, which stays when nobody takes part; programs join it by DATSIM_FABRIC. NULL
 * config: as the environment says. DAT_INVALID_STATE: there is one. DAT_PRIVILEGES_VIOLATION: the folder
 * that fabrics are in is not this user's alone. DAT_INSUFFICIENT_RESOURCES: no room for it.
 */
extern DAT_RETURN dat_sim_fabric_create(const char *name, const DAT_SIM_CONFIG *config);

/*
 * End it; its trace is written. DAT_INVALID_STATE: a process takes part. DAT_PROVIDER_NOT_FOUND: there is
 * none of that name.
 */
extern DAT_RETURN dat_sim_fabric_destroy(const char *name);

/* Put the name that follows into `name`, in alphabetical order; "" comes before all. DAT_QUEUE_EMPTY: none. */
extern DAT_RETURN dat_sim_fabric_next(char *name, size_t size);

/* The i-th process, from 0. DAT_QUEUE_EMPTY: there are fewer. DAT_PROVIDER_NOT_FOUND: no such fabric. */
extern DAT_RETURN dat_sim_fabric_member(const char *name, DAT_COUNT i, DAT_SIM_MEMBER *member);

/*
 * On a fabric made in lockstep (DATSIM_LOCKSTEP): let its virtual time stand still, for more processes are to
 * join, as long as this one lives, or go on. Each runs to its first wait meanwhile; who joins while time goes on is noted "preempted" in
 * the trace. DAT_PROVIDER_NOT_FOUND: no such fabric.
 */
extern DAT_RETURN dat_sim_fabric_hold(const char *name, DAT_BOOLEAN hold);

#ifdef __cplusplus
}
#endif
#endif /* DAT_SIM_H */
