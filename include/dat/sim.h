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

/* The fabric behind an open IA. */
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

#ifdef __cplusplus
}
#endif
#endif /* DAT_SIM_H */
