/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * script.h - a script in memory: parse_lines.c makes it from the text, bind.c resolves its names.
 *
 * All nodes are allocated from the script's arena and freed with it; names are NUL-terminated
 * copies. Once script_load has succeeded, every call has its row of the call table, every name its
 * symbol and every constant its number: a bad script is refused before anything runs.
 */
#ifndef DATSIM_SCRIPT_H
#define DATSIM_SCRIPT_H

#include <dat/sim.h>

#include "calls.h"
#include "diag.h"
#include "values.h"

/* Limits, so that no text can make the tool large or slow. */
#define SCRIPT_BYTES_MAX   (4u << 20)
#define SCRIPT_LINES_MAX   20000
#define SCRIPT_LINE_MAX    1000 /* bytes */
#define SCRIPT_REPEAT_MAX  100000
#define SCRIPT_LOOP_MAX    1000    /* numbers of one loop */
#define SCRIPT_LOOPED_MAX  20000   /* statements that loops make, in all */
#define SCRIPT_STEPS_MAX   1000000 /* statements executed, counting repeats */
#define SCRIPT_ACTORS_MAX  16
#define SCRIPT_SYMBOLS_MAX 4096
#define SCRIPT_EPS_MAX     1000 /* of one fixture */
#define SCRIPT_MEMORY_MAX  (64u << 20)
#define SCRIPT_TIME_MAX    UINT64_C(3600000000000) /* an hour; virtual ns */
#define SCRIPT_RATE_MIN    UINT64_C(1000000)       /* bits per second of a link, as for libdat */
#define SCRIPT_RATE_MAX    (UINT64_C(1) << 60)

enum when_kind {
	WHEN_DEFAULT, /* no time written: the statement runs at the current virtual time */
	WHEN_ANY,     /* "*" */
	WHEN_AT,      /* one point in time */
	WHEN_WITHIN   /* from ~ to */
};

struct when {
	enum when_kind kind;
	bool relative; /* counted from the previous line; else from the start of the script */
	uint64_t from_ns;
	uint64_t to_ns;
	struct place at;
};

enum value_kind {
	VALUE_NUMBER, /* a number; after bind also a constant */
	VALUE_NAME,   /* the name of an object, a constant or an actor */
	VALUE_STRING,
	VALUE_STRUCT,
	VALUE_LIST,
	VALUE_FLAGS,   /* A|B */
	VALUE_NULL,    /* NULL */
	VALUE_GARBAGE, /* a handle that was never issued */
	VALUE_STALE,   /* stale(name): the handle of a freed object */
	VALUE_ANY,     /* "*": matches any value */
	VALUE_NEW,     /* ?name: gives the value found here that name */
	VALUE_VARIABLE /* a number named by an earlier line */
};

struct value {
	enum value_kind kind;
	struct place at;
	uint64_t number; /* negative numbers in two's complement */
	bool negative;
	uint32_t billionths;
	const char *unit;         /* "" if there is none */
	const char *actor;        /* the actor of "actor.name", else NULL */
	const char *text;         /* a name or a string */
	int symbol;               /* set by bind for an object, else -1 */
	int actor_index;          /* set by bind for an actor, else -1 */
	struct setting *settings; /* VALUE_STRUCT: its fields */
	struct value *elements;   /* VALUE_LIST, VALUE_FLAGS: the values in it */
	struct value *next;       /* the next element of the same list */
};

/* key=value or key!=value */
struct setting {
	const char *key;
	struct place at;
	bool unequal;
	struct value *value;
	const struct member *member; /* set by bind where the key is a member */
	int param;                   /* set by bind: index of the call's output parameter */
	struct setting *next;
};

struct argument {
	const char *key; /* NULL: by position */
	struct place at;
	struct value *value;
	struct argument *next;
};

/* A name after -> */
struct target {
	const char *name; /* NULL for _ */
	struct place at;
	int symbol;
	struct target *next;
};

struct call {
	const char *name;
	struct place at;
	struct argument *arguments;
	struct value *in[CALL_PARAMS_MAX]; /* set by bind; NULL: the default */
	const struct call_row *row;
	const char *type_name; /* NULL: DAT_SUCCESS */
	const char *subtype_name;
	struct place type_at;
	struct place subtype_at;
	DAT_RETURN type;
	DAT_RETURN subtype;
	int head_length; /* of the source line, up to the closing parenthesis */
	struct target *targets;
	struct setting *wanted;
};

struct event {
	struct value *evd;
	bool absent; /* "no event" */
	struct value *number;
	struct value *object;
	struct setting *wanted;
	struct target *targets;
	const struct layout *layout;
};

/* An agent line: the CNO agent of this number was called for that EVD, or was not called. */
struct agent_line {
	bool absent;          /* "no agent" */
	struct value *number; /* NULL: any */
	struct value *evd;
};

/*
 * A packet line: the next packet that arrives from one actor's adapter at the other's, or that none
 * came. Fields are numbers, but for ep=, the sending EP.
 */
struct packet_line {
	bool absent; /* "no packet" */
	const char *from, *to;
	struct place from_at, to_at;
	int from_actor, to_actor;
	const char *opcode; /* as in the trace, or the beginning of it up to a "_" */
	struct place opcode_at;
	struct setting *wanted;
};

/* The packets that a hold, release, link or fault line acts on: a link's, or an EP's message. */
struct traffic {
	const char *from, *to; /* actors; NULL for a message */
	struct place from_at, to_at;
	int from_actor, to_actor;
	struct value *ep;
	uint64_t message;
	uint64_t packets;
	struct setting *settings; /* of a link line */
};

/* A word of a fault line and the value that follows it. */
struct fault_word {
	const char *word;
	struct place at;
	struct value *value; /* NULL: no value follows */
	struct fault_word *next;
};

enum fault_kind {
	FAULT_PACKET,     /* link, qp */
	FAULT_CALL,       /* call NAME */
	FAULT_ALLOC,      /* alloc */
	FAULT_COMPLETION, /* completion */
	FAULT_EVENT,      /* event NAME, notification */
	FAULT_ADAPTER,    /* adapter NAME */
	FAULT_KILL        /* kill NODE */
};

/* A fault line: which packets, calls or events it applies to, and what happens to them. */
struct fault {
	enum fault_kind kind;
	struct value *subject; /* the call, event or adapter; NULL: any */
	const char *actor;     /* actor= */
	struct place actor_at;
	int actor_index;         /* the index of `actor`; -1: none */
	struct value *ep;        /* ep= */
	DAT_SIM_CALL_FAULT call; /* the rule, for every kind but FAULT_PACKET */
	bool verbs;              /* its names, and the numbers in `call`, are those of verbs */
	struct traffic traffic;  /* FAULT_PACKET: a link, or the EP that receives */
	uint32_t to_ep;          /* script for a program: number of the receiving EP, or of `ep` */
	struct fault_word *words;
	struct setting *settings;
	bool restarts;      /* FAULT_KILL: the program starts again */
	bool optional;      /* the script passes even if the rule never fired */
	DAT_SIM_FAULT rule; /* FAULT_PACKET: filled by bind; run/ adds adapters and EPs */
};

/* A turn line: a fixed order of turns, or what a thread does with its turn at one of its calls. */
struct turn_line {
	bool order;
	struct value *subject; /* the node */
	struct setting *settings;
	const char *node, *to;      /* bind fills in these; to: NULL with pause_ns */
	uint64_t thread, to_thread; /* from 1 */
	uint64_t call;              /* of the thread, from 1 */
	uint64_t pause_ns;          /* it sleeps for so long */
};

enum use_kind {
	USE_CONNECTED,
	USE_ADAPTER,
	USE_BARE
};

/* What `use adapter` and `use connected` give each actor, in the order of their symbols. */
enum use_object {
	USE_IA,
	USE_ASYNC,
	USE_PZ,
	USE_MEM,
	USE_RECV,
	USE_REQUEST,
	USE_CONNECT,
	USE_CR,
	USE_OBJECTS
};

struct use_actor {
	const char *name;
	const char *adapter;
	struct place at;
	int index;
	int objects; /* the symbol of USE_IA; the other objects' follow */
	int eps;     /* the symbol of the first EP of `use connected`; the other EPs' follow */
	struct use_actor *next;
};

/* A use line: the objects that the fixture makes. bind fills it from the settings. */
struct use {
	enum use_kind kind;
	struct use_actor *actors;
	struct setting *settings;
	const char *srq; /* NULL: no EP uses an SRQ */
	struct place srq_at;
	int psp_symbol, srq_symbol;
	uint64_t eps, srq_max, srq_lw, srq_iov, memory, recv, request, iov, qlen, qual;
	int64_t soft;
};

enum statement_kind {
	STATEMENT_FABRIC,
	STATEMENT_USE,
	STATEMENT_CALL,
	STATEMENT_EVENT,
	STATEMENT_AGENT,
	STATEMENT_PACKET,
	STATEMENT_HOLD,
	STATEMENT_RELEASE,
	STATEMENT_LINK,
	STATEMENT_FAULT,
	STATEMENT_TURN, /* of programs in lockstep */
	STATEMENT_HEAL, /* removes every fault rule */
	STATEMENT_NOTE,
	STATEMENT_QUIET,
	STATEMENT_END
};

struct statement {
	enum statement_kind kind;
	struct place at; /* of the statement, without its time and its comment */
	const char *s;   /* it in the source, at.length bytes */
	struct when when;
	const char *actor;
	struct place actor_at;
	int actor_index;
	uint64_t repeat;
	const char *loop; /* "i=2", if a loop made it */
	bool broken; /* it does not parse; only the next three are known, and a use line's actors */
	bool hides_names;    /* it may make others than those in `lost` */
	struct target *lost; /* names that it would make */
	const char *frees;   /* the object that it would free, or NULL */
	union {
		struct setting *fabric;
		struct use use;
		struct call call;
		struct event event;
		struct agent_line agent;
		struct packet_line packet;
		struct traffic traffic;
		struct fault fault;
		struct turn_line turn;
		const char *note;
		bool quiet; /* "end quiet" */
	};
	struct statement *next;
};

#define SYMBOL_ANY    (-1) /* a handle of any type */
#define SYMBOL_NUMBER (-2)

/* The name of an object or a number, known from the line that makes it. */
struct symbol {
	const char *name;
	int actor;
	int type;       /* a DAT_HANDLE_TYPE, SYMBOL_ANY or SYMBOL_NUMBER */
	int owner;      /* the symbol of its IA, or -1 */
	int older;      /* the one before it of the same actor, or -1 */
	int freed_line; /* 0: not freed */
	bool timed;     /* an EVD on which some line expects an event at a given time */
};

struct actor {
	const char *name;
	const char *adapter;
};

struct script {
	struct source source;
	struct arena arena;
	struct diag diag;
	struct statement *statements;
	struct actor actors[SCRIPT_ACTORS_MAX];
	int actor_count;
	struct symbol *symbols;
	int symbol_count;
	int symbol_room;
	int actor_symbols[SCRIPT_ACTORS_MAX]; /* 1 + the latest symbol of each actor; 0: none */
	DAT_SIM_CONFIG config;                /* the caller's, changed by `fabric` lines */
	const char *must_fail;                /* the regex of "# Failure:", or NULL */
	bool for_program;                     /* the faults of a program's run: program_script.h */
	bool for_nodes;       /* of several programs, each on a node with one adapter */
	bool turns_in_order;  /* it has a line "turn order" */
	bool watches_packets; /* it has a packet line, which reads the trace */
	uint64_t steps;       /* of all statements, repeats counted */
};

/*
 * Read a script. The source's name and text stay the caller's and must outlive the script. False:
 * the script is bad, diag.text says why. Either way script_free afterwards.
 */
bool script_load(struct script *script, const char *name, const char *text, size_t length,
		 const DAT_SIM_CONFIG *config);
/*
 * The same for the run of a program: such a script has "fabric" and "fault" lines only, and names
 * adapters in place of actors; with `several` programs it names nodes.
 */
bool script_load_for_program(struct script *script, const char *name, const char *text,
			     size_t length, const DAT_SIM_CONFIG *config, bool several);
void script_free(struct script *script);

/* The symbol that `name` means for an actor at this point, or -1. The latest of that name wins. */
int script_symbol(const struct script *script, int actor, const char *name);
int script_actor(const struct script *script, const char *name);

/* needs.c: a feature of this script that needs a simulated fabric ("held messages"); NULL: none. */
const char *script_needs(const struct script *script);

/* Lines of a script: bytes `from` to `to` of its source. */
struct part {
	size_t from, to;
	int line;               /* number of the first one */
	struct statement **end; /* where their statements are linked */
};

/*
 * parse_lines.c: call `take` for each statement of these lines, also those that are broken. Returns
 * where the next statement would be linked.
 */
typedef void script_take(void *context, struct statement *st);
struct statement **script_parse(struct script *script, const struct part *part, script_take *take,
				void *context);

#endif
