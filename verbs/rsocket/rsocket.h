/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rsocket.h - rsockets: the calls of sockets over a reliable connection of librdmacm.
 *
 * A connected rsocket owns an id, a queue pair, a completion queue and two blocks of registered
 * memory, each cut into slots. A Send carries one message: a head (struct rs_head), and a body as
 * long as the peer's slots permit. The receiving side posts a Receive for each of its slots, which
 * a message of data keeps until the program has read it. A sending side knows how many Receives
 * the peer has posted in all, its limit: each message tells it anew, and one without a body does
 * once half of the slots were posted again since the last message. So no Send finds the peer
 * without a Receive.
 *
 * Neither side can be left without the message that tells it to go on: of the Receives that it
 * knows of, a side leaves one for the end of its stream and one for telling the peer's limit. The
 * latter may be used up by the time another one is due; then the peer has taken it, and its next
 * message carries the new limit, because a slot without data is posted again at once.
 *
 * riomap tells the peer, in a message before any later data, where its memory is, and riowrite is
 * an RDMA Write there, which no message announces.
 *
 * The hello is the private data of the request and of its answer: a peer that is no rsocket is
 * rejected. What the peer says is checked (wire.c); nonsense ends the connection by ECONNRESET.
 *
 * A descriptor is that of an eventfd of the rsocket, so no file of the process has its number. The
 * eventfd is readable while a thread that sleeps in a call has to look again, because another
 * thread has handled the completions.
 *
 * Lock: the mutex of an rsocket covers it, and is released in waits. A listener's is outside those
 * of the rsockets that it has accepted. The mutex of the table
 * (table.c) covers the table and the references of all rsockets, and is taken inside the former.
 * The backend's lock, which calls of verbs and cm_enter take, is inside both. Who has a reference
 * may use the rsocket; the table has one until rclose, and the last one frees it.
 */
#ifndef VERBS_RSOCKET_H
#define VERBS_RSOCKET_H

#include <poll.h>
#include <rdma/rsocket.h>
#include <sys/uio.h>

#include "verbs/cm/cm.h"
#include "verbs/wait.h"

#define RS_MAPS_MOST   128u /* of one side */
#define RS_RESERVE     2u   /* Receives of the peer, and slots, that data leaves free */
#define RS_SLOTS_LEAST 4u   /* for data */
#define RS_SLOTS_MOST  1024u
#define RS_BODY_LEAST  64u
#define RS_BODY_USEFUL 1024u /* own slots are not smaller; there are fewer of them then */
#define RS_BODY_MOST   (1u << 20)
#define RS_FDS         3 /* descriptors that an rsocket waits for */

enum rs_state {
	RS_OPEN,
	RS_BOUND,
	RS_LISTENING,
	RS_CONNECTING,
	RS_ACCEPTING, /* the peer does not know yet: it may not be sent to */
	RS_CONNECTED,
	RS_REFUSED, /* another rconnect may follow */
	RS_OVER
};

enum rs_type {
	RS_DATA = 1,
	RS_LIMIT,
	RS_END,
	RS_MAP,
	RS_UNMAP
};

/* On the wire, in network byte order, as the others below. */
struct rs_head {
	uint32_t limit; /* Receives that the sender has posted so far */
	uint32_t type;
};

struct rs_hello {
	uint32_t magic;
	uint32_t slots; /* the first limit */
	uint32_t body;  /* bytes that fit into a slot after the head */
};

/* Of RS_MAP; of RS_UNMAP only the offset counts. */
struct rs_region {
	uint64_t offset, length, addr;
	uint32_t key, unused;
};

struct rs_options {
	int send_bytes, recv_bytes, send_slots, recv_slots, inline_bytes, maps;
	int reuse_address, out_of_band, no_delay, only_ipv6, tos;
	int keep_alive, keep_idle, keep_interval, keep_probes;
	struct linger linger;
};

/* Memory for messages. A slot is a head and `body` bytes. */
struct rs_slots {
	uint8_t *memory;
	struct ibv_mr *mr;
	uint32_t n, size;
};

struct rs_receiver {
	struct rs_slots slots;
	uint32_t posted, told;    /* Receives in all, and how many of them the peer knows of */
	uint32_t *queue, *length; /* slots with data, and bytes of each slot */
	uint32_t first, count;
	uint32_t taken; /* bytes of the first one that the program has */
};

struct rs_sender {
	struct rs_slots slots;
	uint32_t next, busy;  /* slot; requests that have not completed */
	uint32_t sent, limit; /* messages in all, and how many the peer takes */
	uint32_t peer_slots;
	uint32_t inline_bytes;
};

/* A region of this side that the peer may write to, or, without `mr`, one of the peer's. */
struct rs_map {
	TAILQ_ENTRY(rs_map) link;
	struct ibv_mr *mr;
	bool writable;           /* the peer was told of it */
	struct rs_region region; /* in host byte order */
};
TAILQ_HEAD(rs_map_list, rs_map);

/* What the peer is to be told of regions, in order. */
struct rs_notice {
	STAILQ_ENTRY(rs_notice) link;
	enum rs_type type;
	struct rs_region region;
};

TAILQ_HEAD(rs_list, rs_socket);

struct rs_socket {
	pthread_mutex_t mutex;
	int fd; /* the eventfd */
	unsigned int refs;
	unsigned int waiters, woken; /* threads that sleep; how many of them fd wakes */
	int domain;
	bool closed;
	bool nonblocking, close_on_exec;
	enum rs_state state;
	struct rs_options options;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	/* Of a listener, with a reference each; and why the last request could not be accepted. */
	struct rs_list accepted;
	unsigned int accepted_count;
	int accept_error;
	bool listed;
	TAILQ_ENTRY(rs_socket) link; /* of a listener in the table's list; in `accepted` of one */
	int error;                   /* why the connection is over; 0: the peer closed it */
	int pending_error;           /* SO_ERROR */
	bool read_shut, write_shut, end_due;
	bool peer_ended; /* its stream */
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	bool armed;
	struct rs_receiver rx;
	struct rs_sender tx;
	struct rs_map_list own_maps, peer_maps;
	unsigned int own_count, peer_count;
	STAILQ_HEAD(, rs_notice) notices;
	unsigned int notice_count;
};

/* ---- table.c ---- */

/*
 * NULL: errno. In the table, with two references, and unlocked. `locked`: the rsocket that the
 * caller has locked, and has a reference to; or NULL.
 */
struct rs_socket *rs_make(int domain, struct rs_socket *locked);
/* The rsocket with this number, locked and with a reference; NULL: EBADF. */
struct rs_socket *rs_enter(int fd);
/* The same, closed or not; NULL: the number is no rsocket's. */
struct rs_socket *rs_find(int fd);
/* Drop a reference; without the lock. */
void rs_put(struct rs_socket *rs);
/* Unlock and drop the reference. A negative errno becomes -1 and errno. */
ssize_t rs_leave(struct rs_socket *rs, ssize_t result);
/* Take the rsocket, which is locked, out of the table. */
void rs_close(struct rs_socket *rs);
/* It is a listener, until rs_close. */
void rs_listens(struct rs_socket *rs);
/* All listeners, each with a reference, in memory that the caller frees; how many. */
unsigned int rs_listeners(struct rs_socket ***list);
/* Make all threads that sleep in calls of rsockets look again. No rsocket is locked. */
void rs_wake_all(void);
/* In a forked child, which has none of its parent's rsockets. */
void rs_forget(void);

/* ---- wait.c ---- */

/* Something happened that a thread in a call may wait for. */
void rs_wake(struct rs_socket *rs);
/*
 * Get ready to sleep: the number of descriptors that were put into fds, or 0 if something has
 * happened meanwhile. rs_wait_end follows unless it was 0. Both have the rsocket locked.
 */
int rs_wait_begin(struct rs_socket *rs, struct pollfd fds[RS_FDS]);
void rs_wait_end(struct rs_socket *rs);
/*
 * Sleep until something has happened; -EBADF: the rsocket was closed. A thread that is cancelled
 * drops its reference.
 */
int rs_wait(struct rs_socket *rs, const char *call);
/* The same for at most `*left` ns, which becomes less. */
int rs_wait_for(struct rs_socket *rs, uint64_t *left, const char *call);
/* A call is about to fail by EAGAIN: let time pass, for the program may spin on it. */
void rs_pause(struct rs_socket *rs);

/* ---- wire.c ---- */

void rs_hello_fill(const struct rs_socket *rs, struct rs_hello *hello);
/* Begin to send as the peer's hello says. -EPROTO: it is none. */
int rs_hello_take(struct rs_socket *rs, const void *data, size_t size);
int rs_hello_check(const void *data, size_t size);
/* Post the Receives. */
int rs_receive_all(struct rs_socket *rs);
/* May a message of data, or an RDMA Write, be sent now? */
bool rs_may_send(const struct rs_socket *rs);
bool rs_may_write(const struct rs_socket *rs);
/* Where the body of the next message goes. */
uint8_t *rs_next_body(struct rs_socket *rs);
int rs_send_data(struct rs_socket *rs, uint32_t size);
/* The next body, to this address of the peer. */
int rs_send_write(struct rs_socket *rs, uint32_t size, uint64_t addr, uint32_t key);
/* A slot was read. */
void rs_receive_again(struct rs_socket *rs, uint32_t slot);
/* Send the messages that wait to be sent: notices, the end of the stream, the limit. */
void rs_send_due(struct rs_socket *rs);
/* Handle completions; and events, too. Returns how many there were. */
unsigned int rs_drain(struct rs_socket *rs);
unsigned int rs_progress(struct rs_socket *rs);
/* The connection is over, by this errno or none. */
void rs_fail(struct rs_socket *rs, int error);

/* ---- link.c ---- */

/* An event channel whose calls do not block; NULL: errno. */
struct rdma_event_channel *rs_channel_make(void);
/* An id for the rsocket. */
int rs_id_make(struct rs_socket *rs);
/* The queue pair, its queues and memory. */
int rs_link_make(struct rs_socket *rs);
/* Free those, and the id. */
void rs_link_free(struct rs_socket *rs);
/* Memory for sending, for a peer whose slots have bodies of this size. */
int rs_sender_make(struct rs_socket *rs, uint32_t body);
/* Has the event channel an event? */
bool rs_has_event(const struct rs_socket *rs);
/* Handle the next event of an id that connects or is connected; false: there is none. */
bool rs_handle_next(struct rs_socket *rs);
/* All of them; how many there were. */
unsigned int rs_handle_events(struct rs_socket *rs);

/* ---- connect.c ---- */

struct rdma_conn_param rs_conn_param(const struct rs_hello *hello);
/* The next step of rconnect, after this event. */
int rs_connect_on(struct rs_socket *rs, enum rdma_cm_event_type event);

/* ---- listen.c ---- */

/* Accept or reject the requests that have arrived; how many were accepted. */
unsigned int rs_take_requests(struct rs_socket *rs);
/* End the connections that no raccept has taken. */
void rs_drop_accepted(struct rs_socket *rs);
/*
 * As vb_event_wait_many, but 0 or a negative errno, without its lock, and the requests of listeners
 * are accepted meanwhile. No rsocket is locked.
 */
int rs_sleep(struct vb_wait *wait);

/* ---- socket.c ---- */

/* 0 if it is one, as long as its family needs, of the family of the rsocket. */
int rs_address_check(const struct rs_socket *rs, const struct sockaddr *addr, socklen_t size);
/* That of an rsocket that has none. */
const struct sockaddr *rs_address_none(const struct rs_socket *rs);
/* As the kernel hands out an address: with a size of 0, `to` may be NULL. */
int rs_address_copy(const struct sockaddr *from, struct sockaddr *to, socklen_t *size);

/* ---- option.c ---- */

extern const struct rs_options rs_options_usual;

/* ---- stream.c ---- */

/* A negative errno, or 1: it may be possible later. */
int rs_why_not_send(const struct rs_socket *rs);

/* ---- map.c ---- */

/* The peer told of a region; -EPROTO: it may not. */
int rs_map_told(struct rs_socket *rs, enum rs_type type, const struct rs_region *region);
void rs_maps_free(struct rs_socket *rs);

/* ---- poll.c ---- */

/* As rpoll, with the time in ns; NIC_TIME_NEVER: without limit. */
int rs_poll(struct pollfd *fds, nfds_t n, uint64_t ns, const char *call);

#endif /* VERBS_RSOCKET_H */
