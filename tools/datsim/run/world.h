/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world.h - a running script: the fabric, the objects behind the names, the memory, the ledger of
 * everything posted, and the failure if there is one.
 *
 * There is one struct run for each run of a script; world_end frees everything in it. Functions
 * that return bool return false when they end the run; the failure is then recorded. Nothing here
 * reads a wall clock, draws a random number or prints an address.
 */
#ifndef DATSIM_WORLD_H
#define DATSIM_WORLD_H

#include <dat/sim.h>

#include "point.h"
#include "run.h"
#include "tools/datsim/script/script.h"

#define BUSY_LIMIT_NS    UINT64_C(10000000000) /* longer: never quiet */
#define BUSY_LIMIT_STEPS 1000000

/*
 * Memory behind LMRs, with guard bytes on both sides. Buffers are cut from its end downwards, each
 * with guard bytes of its own; pieces that scripts place by an offset begin at its start.
 */
struct region {
	unsigned char *bytes;
	size_t size;
	size_t used;
	const char *shared; /* its name if it is shared memory, or NULL */
	struct hole {
		size_t offset, length;
	} * holes; /* buffers given back */
	size_t hole_count, hole_room;
};

/* A segment of a DTO. */
struct piece {
	struct region *region; /* NULL: memory that is not the tool's and is not checked */
	size_t offset, length;
	bool carved; /* cut from the region with guards, and returned to it */
};

enum dto_kind {
	DTO_RECV,
	DTO_SEND,
	DTO_WRITE,
	DTO_READ,
	DTO_BIND,
	DTO_KINDS
};

struct dto {
	enum dto_kind kind;
	bool done;       /* completed, or discarded with its queue */
	bool suppressed; /* completes only if it fails */
	bool delivered;  /* a Send whose data arrived */
	bool labelled;   /* the script gave a cookie */
	int queue;       /* symbol of the EP or SRQ it was posted to */
	int rmr;         /* symbol of the RMR, for a bind */
	uint64_t label;
	uint64_t length;
	size_t first_piece, piece_count;
	struct piece remote;   /* a Write or Read: the remote memory */
	int peer;              /* a Send: the receiving EP; -1: unknown */
	size_t posted, reaped; /* ledger.reaped at those times; 0: not yet */
};

struct ledger {
	struct dto *dtos;
	size_t count, room;
	struct piece *pieces;
	size_t piece_count, piece_room;
	size_t reaped; /* from 1 */
};

/* The memory window that an RMR gives the peer. */
struct window {
	struct region *region; /* NULL: not the tool's memory */
	size_t offset;
	DAT_VADDR address;
	DAT_VLEN length;
	DAT_RMR_CONTEXT context;
};

/* What the checkers recorded of an EP. */
struct ep_model {
	DAT_EP_STATE state; /* when last queried */
	bool seen, passive;
	DAT_PORT_QUAL port;
	int peer;                       /* symbol of the connected EP; -1: unknown */
	uint64_t sent, arrived, reaped; /* messages to it, on this connection: see srq_model */
	uint64_t armed, fired;          /* settings of the soft high watermark; its events */
};

/*
 * A model of an SRQ by the rulings, from the calls and events of the program alone. A message takes
 * one buffer: it may have done so once it is sent, and has done so once its Send has succeeded or
 * its Receive was reaped.
 */
struct srq_model {
	bool known;
	bool vague; /* completions may be lost: the outstanding count is not compared */
	DAT_COUNT max, low;
	uint64_t posted, sent, arrived, reaped, outstanding;
	uint64_t least, most;  /* buffers that the last call may have discarded */
	uint64_t armed, fired; /* settings of the low watermark; its events */
};

/* The object, number or name behind a symbol at run time. */
struct object {
	DAT_HANDLE handle;
	bool alive;
	bool borrowed;         /* freed with its IA, or a second name */
	bool alias;            /* a second name of a named object */
	uint64_t number;       /* the value, if it names a number */
	struct region *region; /* an LMR: its memory */
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	struct window window;           /* an RMR: its last binding */
	int recv_evd, request_evd, srq; /* an EP: their symbols; -1: unknown */
	size_t last_request, last_recv; /* a queue: DTOs completed last, to check the order */
	size_t last_message;            /* an EP: the last Send that arrived at it */
	struct ep_model ep;
	struct srq_model srq_model;
	uint64_t *surfaced; /* a timed EVD: when each queued event arrived */
	size_t surfaced_count, surfaced_room;
};

/* The instance data of a CNO agent: its actor, and its number in the script. */
struct watch {
	struct run *run;
	int actor;
	uint64_t number;
	struct watch *next;
};

/* A call of an agent. */
struct agent_call {
	int actor;
	uint64_t number;
	DAT_EVD_HANDLE evd;
	bool seen; /* looked up by a line of the script */
};

/* Handles that a script created without naming them. */
struct stray {
	DAT_HANDLE handle;
	int type;
};

struct held {
	const struct statement *st;
	bool released;
};

/* A fault line of the script. */
struct planted {
	const struct statement *st;
	DAT_COUNT id;
	uint64_t fired; /* read when it is removed */
	bool healed;
};

struct failure {
	enum exit_code code; /* EXIT_PASS: no failure yet */
	int line;
	struct text title;
	struct text expected;
	struct text actual;
	struct text trace; /* the last lines before the failure */
	struct text pending;
};

/*
 * The packets that arrived, in order: where their lines are in the trace, and how far packet lines
 * of the script got, for each link.
 */
struct packet_log {
	struct packet_seen {
		size_t at, length;
		uint64_t first_psn; /* of the connection's requester; UINT64_MAX: unknown */
	} * seen;
	size_t count, room;
	size_t read; /* bytes of the trace */
	struct packet_sender {
		char name[64]; /* of an EP in the trace */
		uint64_t first_psn;
	} * senders;
	size_t sender_count, sender_room;
	size_t next[SCRIPT_ACTORS_MAX][SCRIPT_ACTORS_MAX]; /* [from][to] */
};

struct run {
	const struct script *script;
	const struct statement *st; /* the running one; NULL before and after */
	uint64_t turn;              /* which repetition of it, from 1 */
	DAT_SIM_HANDLE sim;
	bool fabric_up;
	bool real;         /* on a device: no fabric, and real time */
	unsigned int slow; /* multiplies waiting times there */
	bool traced;
	bool begun;
	uint64_t origin_ns;   /* fabric time at which script time starts */
	uint64_t previous_ns; /* script time at the end of the previous line */
	struct object *objects;
	DAT_SOCK_ADDR6 addresses[SCRIPT_ACTORS_MAX]; /* large enough for any address family */
	bool has_address[SCRIPT_ACTORS_MAX];
	struct ledger ledger;
	struct stray *strays;
	size_t stray_count, stray_room;
	struct held *holds;
	size_t hold_count, hold_room;
	struct planted *faults;
	size_t fault_count;
	struct region **regions; /* all of them */
	size_t region_count;
	struct region_pool *pool; /* NULL: none is handed on */
	bool by_address; /* memory was named otherwise than by a buffer that was cut for it */
	struct watch *watches;
	struct agent_call *agent_calls;
	size_t agent_call_count, agent_call_room;
	struct packet_log packets;
	const char **providers; /* providers that the script registered */
	size_t provider_count;
	int *endpoints, *queues; /* symbols of EPs and SRQs, for the checkers */
	int endpoint_count, queue_count, next_endpoint;
	uint64_t clock_ns; /* fabric time when last read */
	bool may_look;     /* false: a query could let time pass; on a device */
	bool overflowed;   /* an EVD overflowed: completions are lost */
	bool strangers;    /* Sends went to unknown EPs: counts are uncertain */
	bool any_timed;
	struct point *point; /* the additional fault of a sweep; NULL: none */
	struct text *echo;   /* receives the result of the last statement; NULL: not wanted */
	DAT_COUNT objects_before;
	struct failure failure;
};

/* Begin a run. Untraced, a fabric may take shorter paths; a script must not notice. */
bool world_begin(struct run *run, const struct script *script, bool traced);
/* Free every DAT object in an order that succeeds, then check that none is left. */
bool world_clear(struct run *run);
/* Free what is left; append the whole trace to `trace`. */
void world_end(struct run *run, struct text *trace);

/* ---- failures (report.c) ---- */

/*
 * Record the failure that ends the run, with the trace and the pending operations at this moment.
 * Takes over the texts for expected and actual; with an actual text alone, the statement as written
 * is what was expected. Always returns false, so that callers can return it. Only the first failure
 * is kept.
 */
bool run_fail(struct run *run, enum exit_code code, struct text *expected, struct text *actual,
	      const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Forget the recorded failure. */
void run_forgive(struct run *run);
void text_time(struct text *text, uint64_t ns);
void text_handle(const struct run *run, struct text *text, int actor, DAT_HANDLE handle);
void text_result(struct text *text, DAT_RETURN ret);
/* The report of a failure. */
void failure_print(const struct run *run, const char *replay, struct text *text);

/* ---- memory (memory.c) ---- */

/*
 * `shared`: the name of the shared memory, which must outlive the region; NULL for private memory.
 * The run frees the region.
 */
struct region *region_new(struct run *run, size_t size, const char *shared);
void region_free(struct region *region);
/* Leave it to the next run, or free it. */
void region_hand_on(struct run *run, struct region *region);
/* Cut a buffer from the region; false: no room. */
bool region_carve(struct region *region, size_t length, struct piece *piece);
void region_return(const struct piece *piece);
bool piece_guards_whole(const struct piece *piece);
bool region_guards_whole(const struct region *region);

/* ---- ledger (ledger.c) ---- */

/* Open an entry and fill its buffers; the pieces follow by ledger_piece. Returns its number. */
size_t ledger_post(struct run *run, enum dto_kind kind, int queue);
void ledger_piece(struct run *run, const struct piece *piece);
void ledger_fill(struct run *run, size_t number);
/* The post failed: drop its entry, which has to be the last one. */
void ledger_undo(struct run *run);
DAT_CONTEXT ledger_cookie(size_t number);
/* An event came out of an EVD: check what it says against what was posted. */
bool ledger_event(struct run *run, int evd, const DAT_EVENT *event);
/* The queue was reset or freed: its DTOs will not complete. */
void ledger_drop(struct run *run, int queue);
/* Byte `i` of message `number`, `length` bytes long. */
unsigned char message_byte(size_t number, uint64_t length, uint64_t i);
/* Could another DTO have changed the memory of this Write or Read meanwhile? */
bool ledger_disturbed(const struct run *run, size_t number, const struct piece *piece);
/* ledger_data.c: check that the data of a successful DTO arrived, at the right place. */
bool ledger_check_data(struct run *run, int ep, size_t number, uint64_t length);
bool checker_failed(struct run *run, const char *expected, const char *actual);
/* Takes over the texts. */
bool checker_found(struct run *run, struct text *expected, struct text *actual);
void text_dto(const struct run *run, struct text *text, const struct dto *dto);
/* The cookie that the script gave. */
uint64_t ledger_label(const struct run *run, uint64_t cookie);
void ledger_pending(const struct run *run, struct text *text);

/* ---- time (clock.c) ---- */

uint64_t run_clock(const struct run *run); /* fabric time, or real time on a device */
uint64_t run_now(const struct run *run);   /* script time */
bool run_until(struct run *run, uint64_t script_ns);
/* Run the next event of the fabric if it is due by then; *stepped is false if none was due. */
bool run_step(struct run *run, uint64_t limit_ns, bool *stepped);
void run_observe(struct run *run);
/* When the event at the head of a timed EVD arrived; false: the EVD is empty. */
bool run_surfaced(struct run *run, int evd, uint64_t *script_ns);
bool run_until_quiet(struct run *run);
/* On a device: wait, so that events can arrive. */
void run_settle(struct run *run);

/* ---- what is always checked (check.c, check_ep.c, check_srq.c, check_end.c) ---- */

void checks_begin(struct run *run);
/* After each step of the fabric and after what a script does: the clock, EPs, SRQs. */
bool checks_look(struct run *run);
/* Has no buffer changed while it was posted? */
bool checks_posted(struct run *run);
/* No event is pending: check that DTOs have completed and guard bytes are intact. */
bool checks_end(struct run *run);

/* An EP that a call names, before and after it. `call` NULL: time passed. */
bool check_ep(struct run *run, int ep, const char *call, bool failed);
void ep_is_new(struct run *run, int ep);
/* The two ends of a connection, where the tool made it. */
void ep_met(struct run *run, int ep, int peer);
/* The soft high watermark of an EP was set; its event arrived. */
void ep_marked(struct run *run, int ep, DAT_COUNT soft);
bool ep_event(struct run *run, const DAT_ASYNCH_ERROR_EVENT_DATA *data);

bool check_srq(struct run *run, int srq);
void srq_is_new(struct run *run, int srq, DAT_COUNT max, DAT_COUNT low);
void srq_sent(struct run *run, struct dto *dto);
void srq_arrived(struct run *run, const struct dto *dto);
void srq_reaped(struct run *run, int srq, int ep);
/* The completions of an EP were discarded. */
void srq_purged(struct run *run, int ep);
bool srq_event(struct run *run, const DAT_ASYNCH_ERROR_EVENT_DATA *data);

/* ---- agents (agents.c) ---- */

DAT_OS_WAIT_PROXY_AGENT agent_new(struct run *run, int actor, uint64_t number);
/* The script's number of an agent; false: the agent is not the tool's. */
bool agent_number(const DAT_OS_WAIT_PROXY_AGENT *agent, uint64_t *number);
bool run_agent(struct run *run, const struct statement *st);

/* ---- packets (packet.c, packet_log.c) ---- */

/* The packets of the set-up are not spoken of. */
void packets_begin(struct run *run);
void packets_end(struct run *run);
bool run_packet(struct run *run, const struct statement *st);
/* Learn the packets that arrived since. The trace, NULL if there is none. */
const char *packets_read(struct run *run);
/* The value of a key in a line of the trace; NULL: the line has no such key. */
const char *trace_key(const char *line, size_t length, const char *key, size_t *n);

/* ---- doing (fixture.c, invoke.c, expect.c, wire.c) ---- */

/* An event that comes after the next line with an absolute time would be too late for it. */
uint64_t run_limit(const struct run *run);

bool run_fixture(struct run *run, const struct use *use);
bool run_call(struct run *run, const struct statement *st);
bool run_event(struct run *run, const struct statement *st);
bool run_wire(struct run *run, const struct statement *st);
bool run_fault(struct run *run, const struct statement *st);
bool run_heal(struct run *run);
/* Check that every fault that is not optional acted. */
void run_check_faults(struct run *run);
size_t run_faults_acted(struct run *run);

/* Take the event at the head of an EVD, if there is one, and check it against the ledger. */
bool run_dequeue(struct run *run, int evd, DAT_EVENT *event, bool *got);

/* Learn the address of the actor's adapter, once the adapter is open. */
DAT_RETURN learn_address(struct run *run, int actor, DAT_IA_HANDLE ia);
void object_made(struct run *run, int symbol, DAT_HANDLE handle);
void object_gone(struct run *run, int symbol);
int object_of(const struct run *run, DAT_HANDLE handle);
/* Give a returned handle the ?name of the script. */
void object_found(struct run *run, int symbol, DAT_HANDLE handle);
/* The symbol of an object, by whichever name the script uses; -1: none. */
int value_object(const struct run *run, const struct value *value);
uint64_t value_number(const struct run *run, const struct value *value);
void run_stray(struct run *run, DAT_HANDLE handle, int type);
DAT_HANDLE value_handle(const struct run *run, const struct value *value);

/*
 * Do the settings for output `param` match the structure at `base`? The real values go to `actual`,
 * as a script would write them, with `separator` between them.
 */
bool match_settings(struct run *run, const struct setting *settings, int param, const void *base,
		    struct text *actual, const char *separator);
/* The same without a text. False also if some setting gives the value that it finds a name. */
bool settings_fit(struct run *run, const struct setting *settings, int param, const void *base);
bool same_address(const void *a, const void *b);
bool match_number(struct run *run, const struct setting *setting, uint64_t number, size_t size);
void print_member(const struct run *run, struct text *text, const struct member *member,
		  const void *base);

#endif
