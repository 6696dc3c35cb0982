/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world.h - a script while it runs: the fabric, the objects behind the names, the memory, the
 * ledger of everything posted, and what went wrong.
 *
 * One struct run for one run of one script; everything in it is freed by world_end. Functions that
 * return bool return false when the run is over because of them; the failure is then recorded.
 * Nothing here reads a wall clock, draws a random number or prints an address.
 */
#ifndef DATSIM_WORLD_H
#define DATSIM_WORLD_H

#include <dat/sim.h>

#include "point.h"
#include "tools/datsim/script/script.h"

#define BUSY_LIMIT_NS    UINT64_C(10000000000) /* longer than this is never quiet */
#define BUSY_LIMIT_STEPS 1000000

/*
 * Memory behind LMRs, with guard bytes before and behind it. Buffers are cut from its end downwards, each
 * with guard bytes on both sides; what scripts place by an offset they begin at its beginning.
 */
struct region {
	unsigned char *bytes;
	size_t size;
	size_t used;
	const char *shared; /* the name of the shared memory that it is, or NULL */
	struct hole {
		size_t offset, length;
	} * holes; /* buffers given back */
	size_t hole_count, hole_room;
};

/* A segment of a DTO. */
struct piece {
	struct region *region; /* NULL: not the tool's memory, and not looked at */
	size_t offset, length;
	bool carved; /* has guards, and is given back */
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
	bool done;       /* completed, or thrown away with its queue */
	bool suppressed; /* completes only if it fails */
	bool delivered;  /* of a Send: its data arrived */
	bool labelled;   /* the script gave a cookie */
	int queue;       /* symbol of the EP or SRQ it was posted to */
	int rmr;         /* symbol, of a bind */
	uint64_t label;
	uint64_t length;
	size_t first_piece, piece_count;
	struct piece remote;   /* of a Write or Read: the peer's end */
	int peer;              /* of a Send: the EP that it is for, -1 unknown */
	size_t posted, reaped; /* the ledger's count of reaped ones at the time; 0: not yet */
};

struct ledger {
	struct dto *dtos;
	size_t count, room;
	struct piece *pieces;
	size_t piece_count, piece_room;
	size_t reaped; /* from 1 */
};

/* What an RMR gives the peer. */
struct window {
	struct region *region; /* NULL: not the tool's memory */
	size_t offset;
	DAT_VADDR address;
	DAT_VLEN length;
	DAT_RMR_CONTEXT context;
};

/* What the checkers know of an EP. */
struct ep_model {
	DAT_EP_STATE state; /* as it was seen last */
	bool seen, passive;
	DAT_PORT_QUAL port;
	int peer; /* the symbol of the EP that it is connected with; -1: unknown */
	uint64_t sent, arrived, reaped; /* messages to it, on this connection: see srq_model */
	uint64_t armed, fired;          /* settings of the soft high watermark; its events */
};

/*
 * An SRQ by the rulings, from what the program did and got alone. A message takes one buffer: at the most
 * once it is sent, for sure once its Send has succeeded or its Receive was reaped.
 */
struct srq_model {
	bool known;
	bool vague; /* completions may be lost unseen: outstanding is not compared */
	DAT_COUNT max, low;
	uint64_t posted, sent, arrived, reaped, outstanding;
	uint64_t least, most;  /* that the call just made may have thrown away */
	uint64_t armed, fired; /* settings of the low watermark; its events */
};

/* What a symbol stands for at run time. */
struct object {
	DAT_HANDLE handle;
	bool alive;
	bool borrowed;         /* goes with its IA, or is another name of something */
	bool alias;            /* another name of an object that has one */
	uint64_t number;       /* of a name for a number */
	struct region *region; /* of an LMR */
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	struct window window;           /* of an RMR: as bound last */
	int recv_evd, request_evd, srq; /* symbols, of an EP; -1 unknown */
	size_t last_request, last_recv; /* of a queue: last completed, to check the order */
	size_t last_message;            /* of an EP: last Send that arrived at it */
	struct ep_model ep;
	struct srq_model srq_model;
	uint64_t *surfaced; /* of a timed EVD: when each queued event came */
	size_t surfaced_count, surfaced_room;
};

/* What the tool gives a CNO for an agent: who made it, and the number it is known by. */
struct watch {
	struct run *run;
	int actor;
	uint64_t number;
	struct watch *next;
};

/* An agent was called. */
struct agent_call {
	int actor;
	uint64_t number;
	DAT_EVD_HANDLE evd;
	bool seen; /* by a line of the script */
};

/* Handles that a script made but did not name. */
struct stray {
	DAT_HANDLE handle;
	int type;
};

struct held {
	const struct statement *st;
	bool released;
};

/* A fault that a script asked for. */
struct planted {
	const struct statement *st;
	DAT_COUNT id;
	uint64_t fired; /* known once it is healed */
	bool healed;
};

struct failure {
	enum exit_code code; /* EXIT_PASS: none yet */
	int line;
	struct text title;
	struct text expected;
	struct text actual;
	struct text trace; /* the last lines, at the moment of the failure */
	struct text pending;
};

struct run {
	const struct script *script;
	const struct statement *st; /* the one running; NULL before and after */
	uint64_t turn;              /* of its repeats, from 1 */
	DAT_SIM_HANDLE sim;
	bool fabric_up;
	bool real;         /* on a device: no fabric, and the machine's time */
	unsigned int slow; /* there: so many times as long */
	bool traced;
	bool begun;
	uint64_t origin_ns;   /* of script time */
	uint64_t previous_ns; /* script time at the end of the line before */
	struct object *objects;
	DAT_SOCK_ADDR6 addresses[SCRIPT_ACTORS_MAX]; /* big enough for any family */
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
	struct watch *watches;
	struct agent_call *agent_calls;
	size_t agent_call_count, agent_call_room;
	const char **providers; /* names that the script registered */
	size_t provider_count;
	int *endpoints, *queues; /* symbols of EPs and SRQs, for the checkers */
	int endpoint_count, queue_count, next_endpoint;
	uint64_t clock_ns; /* of the fabric, as it was seen last */
	bool may_look;     /* queries let no time pass */
	bool overflowed;   /* an EVD did: completions are lost */
	bool strangers;    /* Sends went to who knows whom: buffers may be taken unseen */
	bool any_timed;
	struct point *point; /* one more fault; NULL: none */
	struct text *echo;   /* of the last statement; or NULL */
	DAT_COUNT objects_before;
	struct failure failure;
};

/* Untraced, a fabric may take shorter ways; a script must not notice. */
bool world_begin(struct run *run, const struct script *script, bool traced);
/* Free every DAT object in an order that succeeds, then check that none is left. */
bool world_clear(struct run *run);
/* Free what is left; the whole trace goes to `trace`. */
void world_end(struct run *run, struct text *trace);

/* ---- failures (report.c) ---- */

/*
 * Record why the run is over, with trace and pending as they are now. The texts for expected and
 * actual are taken over. Always false, so that one can return it. The first failure stays.
 */
bool run_fail(struct run *run, enum exit_code code, struct text *expected, struct text *actual,
	      const char *format, ...) __attribute__((format(printf, 5, 6)));
/* As if nothing had failed. */
void run_forgive(struct run *run);
/* "expected" is the statement as written. */
void text_statement(const struct run *run, struct text *text);
void text_time(struct text *text, uint64_t ns);
void text_handle(const struct run *run, struct text *text, int actor, DAT_HANDLE handle);
void text_result(struct text *text, DAT_RETURN ret);
/* The account of a failure, as printed. */
void failure_print(const struct run *run, const char *replay, struct text *text);

/* ---- memory (memory.c) ---- */

/* `shared`: not the program's alone; the name of it must outlive the region. The run frees it. */
struct region *region_new(struct run *run, size_t size, const char *shared);
void region_free(struct region *region);
/* Cut a buffer; false: no room. */
bool region_carve(struct region *region, size_t length, struct piece *piece);
void region_return(const struct piece *piece);
bool piece_guards_whole(const struct piece *piece);
bool region_guards_whole(const struct region *region);

/* ---- ledger (ledger.c) ---- */

/* Open an entry and fill its buffers; the pieces follow by ledger_piece. Returns its number. */
size_t ledger_post(struct run *run, enum dto_kind kind, int queue);
void ledger_piece(struct run *run, const struct piece *piece);
void ledger_fill(struct run *run, size_t number);
/* The post failed: as if it had never been. Only the last entry. */
void ledger_undo(struct run *run);
DAT_CONTEXT ledger_cookie(size_t number);
/* An event came out of an EVD: check what it says against what was posted. */
bool ledger_event(struct run *run, int evd, const DAT_EVENT *event);
/* The queue was reset or freed: its DTOs never complete. */
void ledger_drop(struct run *run, int queue);
/* Byte `i` of message `number`, `length` bytes long. */
unsigned char message_byte(size_t number, uint64_t length, uint64_t i);
/* Was what these bytes of this Write or Read hold anybody else's, too, meanwhile? */
bool ledger_disturbed(const struct run *run, size_t number, const struct piece *piece);
/* ledger_data.c: what a DTO that succeeded moved is where it should be, as it should be. */
bool ledger_check_data(struct run *run, int ep, size_t number, uint64_t length);
bool checker_failed(struct run *run, const char *expected, const char *actual);
/* The texts are taken over. */
bool checker_found(struct run *run, struct text *expected, struct text *actual);
void text_dto(const struct run *run, struct text *text, const struct dto *dto);
/* The cookie as the script knows it. */
uint64_t ledger_label(const struct run *run, uint64_t cookie);
void ledger_pending(const struct run *run, struct text *text);

/* ---- time (clock.c) ---- */

uint64_t run_clock(const struct run *run); /* the fabric's, or the machine's */
uint64_t run_now(const struct run *run);   /* script time */
bool run_until(struct run *run, uint64_t script_ns);
/* Run the next event of the fabric if it is due by then; false in *stepped if there is none. */
bool run_step(struct run *run, uint64_t limit_ns, bool *stepped);
void run_observe(struct run *run);
/* When the event at the head of a timed EVD came; false: none is there. */
bool run_surfaced(struct run *run, int evd, uint64_t *script_ns);
bool run_until_quiet(struct run *run);
/* On a device: give what may come the time to come. */
void run_settle(struct run *run);

/* ---- what is always checked (check.c, check_ep.c, check_srq.c, check_end.c) ---- */

void checks_begin(struct run *run);
/* After each step of the fabric and after what a script does: the clock, EPs, SRQs. */
bool checks_look(struct run *run);
/* Nothing more will happen: what is posted is completed, no byte is out of place. */
bool checks_end(struct run *run);

/* An EP that a call names, before and after it. `call` NULL: time passed. */
bool check_ep(struct run *run, int ep, const char *call, bool failed);
void ep_is_new(struct run *run, int ep);
/* The two ends of a connection, where the tool made it. */
void ep_met(struct run *run, int ep, int peer);
/* Its soft high watermark was set; the event of one came. */
void ep_marked(struct run *run, int ep, DAT_COUNT soft);
bool ep_event(struct run *run, const DAT_ASYNCH_ERROR_EVENT_DATA *data);

bool check_srq(struct run *run, int srq);
void srq_is_new(struct run *run, int srq, DAT_COUNT max, DAT_COUNT low);
void srq_sent(struct run *run, struct dto *dto);
void srq_arrived(struct run *run, const struct dto *dto);
void srq_reaped(struct run *run, int srq, int ep);
/* An EP's completions were thrown away. */
void srq_purged(struct run *run, int ep);
bool srq_event(struct run *run, const DAT_ASYNCH_ERROR_EVENT_DATA *data);

/* ---- agents (agents.c) ---- */

DAT_OS_WAIT_PROXY_AGENT agent_new(struct run *run, int actor, uint64_t number);
/* The number of an agent of the tool's; false: it is none. */
bool agent_number(const DAT_OS_WAIT_PROXY_AGENT *agent, uint64_t *number);
bool run_agent(struct run *run, const struct statement *st);

/* ---- doing (fixture.c, invoke.c, expect.c, wire.c) ---- */

bool run_fixture(struct run *run, const struct use *use);
bool run_call(struct run *run, const struct statement *st);
bool run_event(struct run *run, const struct statement *st);
bool run_wire(struct run *run, const struct statement *st);
bool run_fault(struct run *run, const struct statement *st);
bool run_heal(struct run *run);
/* Every fault happened that had to. */
bool run_check_faults(struct run *run);

/* Take the event at the head of an EVD, if there is one, and check it against the ledger. */
bool run_dequeue(struct run *run, int evd, DAT_EVENT *event, bool *got);

/* The address of the actor's adapter, once it is open. */
DAT_RETURN learn_address(struct run *run, int actor, DAT_IA_HANDLE ia);
void object_made(struct run *run, int symbol, DAT_HANDLE handle);
void object_gone(struct run *run, int symbol);
int object_of(const struct run *run, DAT_HANDLE handle);
/* The script's ?name for a handle that came back. */
void object_found(struct run *run, int symbol, DAT_HANDLE handle);
/* The symbol of an object, whichever of its names the script used; -1: none. */
int value_object(const struct run *run, const struct value *value);
uint64_t value_number(const struct run *run, const struct value *value);
void run_stray(struct run *run, DAT_HANDLE handle, int type);
DAT_HANDLE value_handle(const struct run *run, const struct value *value);

/*
 * Do the settings that belong to output `param` match the structure at `base`? What is really there
 * goes to `actual`, as a script would write it, with `separator` between.
 */
bool match_settings(struct run *run, const struct setting *settings, int param, const void *base,
		    struct text *actual, const char *separator);
bool same_address(const void *a, const void *b);
bool match_number(struct run *run, const struct setting *setting, uint64_t number, size_t size);
void print_member(const struct run *run, struct text *text, const struct member *member,
		  const void *base);

#endif
