/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * prog.h - programs of legal calls, made up as they run, beside a model of what may come of them.
 *
 * A program is a world (two adapters with EVDs, SRQs, Endpoints, listeners, registered memory), a
 * source of choices (choice.h) and operations. The model knows no more than a Consumer: which calls
 * it made and what came out of them. After each operation every state that shows is compared with
 * what the rulings allow; where they leave freedom (how far a message came, which of two ends was
 * first) anything within them is accepted. A reckoning lets the network come to rest, reaps
 * everything and asks for the one right answer: each posted DTO completed exactly once, every event
 * told, every count right.
 */
#ifndef RANDOM_PROG_H
#define RANDOM_PROG_H

#include <stddef.h>
#include <sys/socket.h>

#include <dat/udat.h>
#include <dat/sim.h>

#include "choice.h"
#include "tests/oracle/oracle.h"

enum {
	SIDES = 2,
	EVDS = 40,
	SRQS = 4,
	EPS = 40,
	EPS_MADE = 14, /* by the program itself; requests bring more */
	PSPS = 6,
	REQUESTS = 24,
	CONNS = 48,
	DTOS = 1024,
	QUEUE = 32, /* DTOs of an Endpoint, each way, at most */
	LIVES = 4,  /* connections of an Endpoint whose events may lie unread */
	SLOT = 1536,
	MTU = 256,
	LOG = 60,
	BIG = 512, /* length of an EVD that never overflows */
	HOLDS = 8,
	RMRS = 6,
	FAULTS = 4,
	SOURCE = 4096, /* what peers read, never changes */
	MEMORY = 2 * DTOS * SLOT + SOURCE,
	NONE = -1,
};

/* ---- what there is ---- */

struct side {
	char name[16];
	DAT_IA_HANDLE ia; /* NULL: closed */
	DAT_EVD_HANDLE async;
	DAT_PZ_HANDLE pz;
	DAT_CNO_HANDLE cno;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	struct sockaddr_storage address;
	DAT_RMR_CONTEXT rkey;
	uint8_t *memory; /* for each DTO a buffer and an RDMA target; the source */
};

struct evd {
	DAT_EVD_HANDLE handle; /* NULL: not there */
	int side;
	unsigned int flags;
	int qlen;
	int users;
	bool attached, disabled; /* to the CNO of its side */
	int selective;           /* of them, streams of which not every completion wakes */
	bool overflowed;         /* an overflow event came, and it was not emptied since */
	int se_posted, se_seen;
};

struct srq {
	DAT_SRQ_HANDLE handle;
	int side, users;
	struct oracle_srq count;
	int shortest;   /* Receive that was ever there */
	int fresh;      /* posted since the last look */
	bool low_event; /* it came since the last look */
};

enum dto_kind {
	DTO_FREE,
	DTO_RECV,
	DTO_SEND, /* requests from here on */
	DTO_WRITE,
	DTO_READ,
	DTO_BIND
};

/* A DTO from its post until it is reaped, or can never be; its number and serial are the cookie. */
struct dto {
	enum dto_kind kind;
	uint32_t serial;
	int ep, srq; /* whose queue; the other is NONE */
	int length;
	int message; /* Send: of its connection, from 1. Others: the last one before */
	unsigned int flags;
	bool live; /* posted on a connection, not to be flushed at once */
	int rmr;   /* what it goes through, or binds; NONE */
	int from;  /* Read: where in the peer's source it starts */
};

struct rmr {
	DAT_RMR_HANDLE handle;
	int side, users; /* DTOs that are out */
	bool bound;
	DAT_RMR_CONTEXT context;
};

/* Why a connection may break; bits. */
enum cause {
	STARVED = 1,  /* a message found no Receive */
	TOO_LONG = 2, /* or its Receive was too short */
	OVERFLOW = 4, /* an EVD had no room */
	LOSSY = 8,    /* packets get lost */
	ACCESS = 32,  /* an RDMA violates a key, bound or privilege */
	HARD = 16,    /* an Endpoint has a hard watermark */
};

/* How the request of a connection fared */
enum answer {
	UNANSWERED,
	ACCEPTED,
	REJECTED,
};

struct conn {
	bool used;
	uint32_t id;
	int side[2]; /* where its ends are, or were */
	int ep[2];   /* active, passive; NONE: not there, no more or not yet */
	int to;      /* side */
	DAT_CONN_QUAL qual;
	enum answer answer;
	bool at_program;     /* the program holds the request */
	bool may_be_refused; /* there may be no listener, or a full queue, when it comes */
	bool may_time_out, unreachable;
	bool handed_off;
	bool asked;      /* an end was disconnected or freed */
	bool gave_up[2]; /* this end did so before it was established */
	unsigned int causes;
	struct way {
		int sent, acked, got;
		int length[QUEUE * 2]; /* of message n at n % (QUEUE * 2) */
	} way[2];                      /* from ep[i] */
};

/* What the events on the connect EVD told of a connection */
enum told {
	TOLD_NOTHING,
	TOLD_CONNECTING, /* dat_ep_connect, nothing yet */
	TOLD_ACCEPTING,  /* dat_cr_accept, nothing yet */
	TOLD_UP,
	TOLD_OVER
};

struct life {
	enum told told;
	int conn; /* number in prog.conn; it is kept until all is told */
	int end;  /* 0 active, 1 passive */
	DAT_EP_STATE state;
};

struct ep {
	DAT_EP_HANDLE handle; /* kept after the free until all its events are read */
	bool dead;
	int side, srq, recv, request, connect; /* numbers; srq NONE: plain */
	DAT_COMPLETION_FLAGS request_flags;
	int max;        /* DTOs, each way */
	bool recv_ever; /* a Receive was posted, since creation or reset */
	int cr_evd;     /* where the request of its RSP is announced */
	struct life life[LIVES];
	int lives;                      /* the last one is now; its state that of the Endpoint */
	int sends[QUEUE], recvs[QUEUE]; /* DTOs, oldest first */
	int send_count, recv_count;
	int shortest;             /* Receive of its own */
	bool holey;               /* an EVD overflowed: completions may be missing */
	bool failed;              /* a Send of this connection did */
	struct oracle_recv count; /* only the marks, and what is known to be taken */
	int got_before;           /* messages reaped when it was last looked at */
	bool soft_event;          /* it came since the last look */
	uint32_t last_recv;       /* serial of the Receive reaped last */
};

enum psp_kind {
	PSP_CONSUMER,
	PSP_PROVIDER, /* each request brings an Endpoint */
	PSP_RESERVED, /* an RSP: one request, for its Endpoint */
};

struct psp {
	DAT_HANDLE handle;
	enum psp_kind kind;
	int side, evd, ep;
	DAT_CONN_QUAL qual;
};

/* A message held half way */
struct hold {
	DAT_EP_HANDLE ep;
	int message;
};

/* A connection request the program holds */
struct request {
	DAT_CR_HANDLE handle;
	int side, conn;
	int ep; /* that came with it; NONE */
};

/* What programs met, for the summary */
enum count {
	N_SENT,
	N_RECEIVED,
	N_FLUSHED,
	N_SUPPRESSED,
	N_WRITTEN,
	N_READ,
	N_BOUND,
	N_VOIDED,
	N_CONNECTED,
	N_ENDED,
	N_BROKEN,
	N_REFUSED,
	N_OVERFLOWS,
	N_WATERMARKS,
	N_WAITS,
	N_TRIGGERS,
	N_FAULTS,
	N_RECKONINGS,
	N_ADAPTERS,
	N_COUNTS
};

struct prog {
	struct choice *choice;
	const char *replay; /* how to do it again */
	unsigned int step;
	DAT_SIM_CONFIG config;
	DAT_SIM_HANDLE sim;
	struct side side[SIDES];
	struct evd evd[EVDS];
	struct srq srq[SRQS];
	struct ep ep[EPS];
	struct psp psp[PSPS];
	struct request request[REQUESTS];
	struct conn conn[CONNS];
	struct rmr rmr[RMRS];
	struct dto dto[DTOS];
	uint32_t serial, connections;
	int dto_hint;
	DAT_CONN_QUAL next_qual;
	struct hold hold[HOLDS];
	int holds;
	bool lossy; /* packets may get lost */
	int faults; /* rules in force */
	unsigned long count[N_COUNTS];
	char log[LOG][120];
	unsigned int logged;
	uint64_t hash; /* over all that was said */
};

struct op {
	const char *name;
	unsigned int weight;
	bool (*run)(struct prog *p); /* false: does not apply, nothing was done */
};

/* ---- prog.c ---- */

int pick(struct prog *p, int n);
bool chance(struct prog *p, int percent);
void says(struct prog *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void fails(struct prog *p, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
/* The call must have succeeded; must have failed with this type. */
void ok(struct prog *p, const char *call, DAT_RETURN ret);
void refused(struct prog *p, const char *call, DAT_RETURN ret, DAT_RETURN type);
const char *state_name(DAT_EP_STATE state);

/* ---- world.c ---- */

/* A fabric; adapters may be opened and closed on it any number of times. */
void world_create(struct prog *p, DAT_SIM_PROFILE profile, bool trace);
void world_end(struct prog *p);
void world_open(struct prog *p);
/* Frees every object one by one; none may be left. */
void world_close(struct prog *p);
void side_open(struct prog *p, int s);
void side_close_abruptly(struct prog *p, int s);
void settle(struct prog *p);
/* Held messages go on. */
void release_all(struct prog *p);
void advance(struct prog *p, DAT_UINT64 ns);
int new_evd(struct prog *p, int s, unsigned int flags, int qlen);
int new_srq(struct prog *p, int s, int max);
/* srq NONE: without an SRQ */
int new_ep(struct prog *p, int s, int srq, int recv, int request, int connect,
	   DAT_COMPLETION_FLAGS request_flags);
/* An Endpoint that came with a request */
int ep_adopt(struct prog *p, DAT_EP_HANDLE handle);
int new_psp(struct prog *p, int s, int evd, enum psp_kind kind);
/* An RSP for an UNCONNECTED Endpoint */
int new_rsp(struct prog *p, int e, int evd);
/* It was reset or freed: nothing of it completes any more. */
void wipe_ep(struct prog *p, int e);
/* Counts the users of an EVD. */
void evd_use(struct prog *p, int v, int by);
void drop_ep(struct prog *p, int e);
void drop_evd(struct prog *p, int v);
void drop_srq(struct prog *p, int q);
void drop_psp(struct prog *p, int l);

/* ---- model.c: Endpoints and connections ---- */

struct life *life_of(struct prog *p, int e);
DAT_EP_STATE state_of(struct prog *p, int e);
struct conn *conn_of(struct prog *p, int e); /* NULL: none */
bool is_up(struct prog *p, int e);
int conn_new(struct prog *p);
bool conns_left(const struct prog *p);
/* The Endpoint does this by a call; the state it must be in afterwards. */
void model_connect(struct prog *p, int e, int conn);
void model_accept(struct prog *p, int e, int conn);
void model_disconnect(struct prog *p, int e, bool abrupt);
void model_reset(struct prog *p, int e);
void model_reserve(struct prog *p, int e);
/* RESERVED or PASSIVE: it is the program's again. */
void model_release(struct prog *p, int e);
/* Freed; its events may still be read later. */
void model_free(struct prog *p, int e);
/* Looked at: it shows this state. */
void model_shows(struct prog *p, int e, DAT_EP_STATE state);
/* An event about it was read. */
void model_told(struct prog *p, int e, DAT_EVENT_NUMBER number);
/* All events of its connect EVD were read. */
void model_told_all(struct prog *p, int e);
/* Does the program hold a request that came with this Endpoint? */
bool request_is_held(const struct prog *p, int e);
/* The network is at rest and nothing is held. */
void model_rests(struct prog *p, int e);
/* A message for e, or a Receive, was posted: could a message find no Receive, or a short one? */
void model_starves(struct prog *p, int e);
void conns_forget(struct prog *p);

/* ---- dto.c ---- */

int dto_new(struct prog *p, enum dto_kind kind, int ep, int srq, int length);
bool dtos_left(const struct prog *p);
DAT_DTO_COOKIE dto_cookie(const struct prog *p, int d);
void post_send(struct prog *p, int e, int length, DAT_COMPLETION_FLAGS flags);
void post_recv(struct prog *p, int e, int length);
void post_srq(struct prog *p, int q, int length);
/* A completion was read. */
void dto_done(struct prog *p, int v, const DAT_DTO_COMPLETION_EVENT_DATA *data);
/* None of the Endpoint's DTOs completes any more. */
void dto_void(struct prog *p, int e);
/* The network is at rest, all was reaped. */
void dto_all_done(struct prog *p, int e);
void dto_free(struct prog *p, int d);
int dto_side(const struct prog *p, int d);
uint8_t *dto_slot(const struct prog *p, int d);
/* The segments of its buffer, one or two; returns how many */
int dto_segments(struct prog *p, int d, DAT_LMR_TRIPLET iov[2]);
/* It was posted as request of its Endpoint. */
void request_posted(struct prog *p, int d, DAT_COMPLETION_FLAGS flags);

/* ---- rdma.c: each DTO has a target of its own in the memory of the other side ---- */

void source_fill(struct prog *p, int s);
/* good: to a legal place; otherwise it breaks the connection */
void post_write(struct prog *p, int e, int length, DAT_COMPLETION_FLAGS flags, bool good);
void post_read(struct prog *p, int e, int length, DAT_COMPLETION_FLAGS flags, bool good);
int new_rmr(struct prog *p, int s);
void drop_rmr(struct prog *p, int m);
void post_bind(struct prog *p, int e, int m, DAT_COMPLETION_FLAGS flags);
/* The RDMA succeeded: its data must be in place. */
void rdma_succeeded(struct prog *p, int d);
/* Message n of the Endpoint came: all it wrote before has come, too. */
void writes_came(struct prog *p, int e, int message);

/* ---- look.c ---- */

/* Read one event; false: there is none. */
bool reap(struct prog *p, int v);
/* The number of queued events; one may be reaped to find out. */
int queued(struct prog *p, int v);
void reap_all(struct prog *p, int v);
/* dat_evd_wait */
void wait_for(struct prog *p, int v, int threshold, DAT_TIMEOUT timeout);
void look(struct prog *p);
void reckon(struct prog *p);

/* ---- calls.c ---- */

/* Is there a listener that refuses no request? */
bool anybody_listens(const struct prog *p, int s, DAT_CONN_QUAL qual);
void ep_connect_to(struct prog *p, int e, int s, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout);
void request_accept(struct prog *p, int r, int e);
void request_reject(struct prog *p, int r);
void request_hand_off(struct prog *p, int r, int s, DAT_CONN_QUAL qual);
/* An Endpoint that a request brought gets its PZ and EVDs. */
void ep_configure(struct prog *p, int e, int recv, int request, int connect);
void ep_dup_connect_to(struct prog *p, int e, int like);
/* All calls that must be refused now, or do nothing */
void refusals(struct prog *p);

/* ---- ops*.c ---- */

/* One software event; false: there is no room. */
bool post_software_event(struct prog *p, int v);

extern const struct op ep_ops[], rdma_ops[], conn_ops[], cno_ops[], fault_ops[], world_ops[];
/* An Endpoint in one of these states (bits), or NONE */
#define STATE(name) (1u << DAT_EP_STATE_##name)
#define ANY_STATE   (~0u)
int any_ep(struct prog *p, unsigned int states);
bool can_request(struct prog *p, int e);
/* An EVD for these streams; it may be created. */
int any_evd(struct prog *p, int s, unsigned int streams);

#endif /* RANDOM_PROG_H */
