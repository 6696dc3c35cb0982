/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cm.h - the stub's connection manager, within its librdmacm.
 *
 * cm.c has ids with their addresses and events, cm_qp.c their QPs, options and extensions,
 * cm_message.c what ids send each other, and cm_connect.c the calls that send it, and the ends of
 * connections that the device or a test causes.
 *
 * Lock: stub_lock, for all that more than one thread may see.
 */
#ifndef TESTS_STUBVERBS_CM_H
#define TESTS_STUBVERBS_CM_H

#include "stub.h"

#define CM_REJECT_CONSUMER    28
#define CM_REJECT_NO_LISTENER 8
#define CM_REJECT_STALE       10

struct stub_event {
	struct rdma_cm_event v;
	uint8_t data[256];
	struct stub_event *next;
};

struct stub_event_channel {
	struct rdma_event_channel v;
	struct stub_event *first, **end;
	bool busy; /* the last call had an event for its caller, who has not asked again */
};

struct stub_id {
	struct rdma_cm_id v;
	struct stub_id *next;
	struct stub_id *peer;
	uint16_t port, remote_port;
	bool listens, connected, hung_up;
	bool open;            /* it has a connection; that of the accepting side begins with RTU */
	bool heard, answered; /* the peer's DREQ has come; its DREP is sent */
	bool asked;
	bool closes;   /* the peer has yet to hear of the end: stub_config.far */
	bool gave_up;  /* an answer came, and it did not take it */
	int unsettled; /* events taken and not acknowledged */
	int backlog;   /* requests that may still wait to be read */
	uint32_t qp_num;
	uint8_t rd_in, rd_out, retries;
	struct ibv_ece local_ece, remote_ece;
	int service_type, ack_timeout; /* -1: not set */
};

extern struct stub_id *cm_ids;

static inline struct stub_id *cm_id_of(struct rdma_cm_id *id)
{
	return (struct stub_id *)id;
}

/* -1 and errno if the test wants this call to fail, or 0. */
static inline int cm_refused(const char *call)
{
	return stub_refuses(call) ? -1 : 0;
}

/* cm.c */
struct stub_event *cm_tell(struct stub_id *id, enum rdma_cm_event_type type, int status);
void cm_put_data(struct stub_event *event, const void *data, uint8_t size);
struct stub_id *cm_new_id(struct rdma_event_channel *channel, void *context,
			  enum rdma_port_space ps);
/* The id is bound to the one device. */
void cm_on_device(struct stub_id *id);
/* The id that listens at the port, or NULL. */
struct stub_id *cm_listener(uint16_t port);

/* cm_qp.c */
/* The extensions of the request. */
void cm_hear_request(struct stub_id *child, const struct stub_id *from);
/*
 * The extensions of the answer, which librdmacm gives to the QP of an id that has one. False: they
 * are not those of the vendor that was asked, which ends the connection.
 */
bool cm_hear_answer(struct stub_id *id, const struct stub_id *from);
/* Does the id wait for the answer to its request? Its QP knows it, too. */
void cm_set_asked(struct stub_id *id, bool asked);
/* The QP of the id, if it has one. */
void cm_to_error(struct stub_id *id);

/* cm_message.c */
/* At once to the peer; or later, if the test has the message lost. The caller holds the lock. */
void cm_send(struct stub_id *id, enum stub_message message, const struct rdma_conn_param *param);
/* The id is destroyed: drop the messages that are to be sent again, but answers of its own. */
void cm_forget(const struct stub_id *id);

#endif /* TESTS_STUBVERBS_CM_H */
