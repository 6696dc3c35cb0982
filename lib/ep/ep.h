/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ep.h - Endpoints (EPs): one QP of the NIC each.
 *
 * An EP holds references to its PZ, to up to three EVDs and to its SRQ; each of them counts its
 * users. The outstanding Receives (posted, not reaped) of an EP without SRQ are counted here, those
 * of an SRQ in struct srq.
 *
 * Watermarks: `soft` is the Consumer's value. The NIC holds the armed limits, soft and hard, and
 * counts the Receives that are taken and not reaped (nic.h: qp_taken_limit, nic_qp.reaped).
 * Crossing the soft limit calls ep_on_soft_limit; crossing the hard one breaks the connection.
 */
#ifndef LIB_EP_H
#define LIB_EP_H

#include "ep_state.h"
#include "lib/evd/evd.h"
#include "lib/memory/lmr.h"
#include "srq.h"

struct pz;

/*
 * With many EPs most are not in the cache when a message comes. The members that a message reads,
 * from obj.handle to send_range, are therefore side by side: 64 bytes of an EP that receives, twice
 * 24 bytes of one that sends.
 */
struct ep {
	struct obj obj;
	struct nic_qp *nic;
	DAT_COUNT *outstanding; /* the counter that reaping decrements: own or the SRQ's */
	DAT_COUNT recv_outstanding;
	DAT_COUNT max_recv_dtos; /* of attr */
	struct lmr_range recv_range, send_range;
	DAT_EP_STATE state;
	DAT_COUNT soft;
	struct pz *pz; /* NULL: made for a request and not accepted yet */
	struct evd *recv_evd, *request_evd,
		*connect_evd; /* NULL: the Consumer wants no such events */
	struct srq *srq;      /* NULL: its own receive queue */
	DAT_EP_ATTR attr;     /* in force; the lists in it are always empty */
	struct async_note soft_note;
	struct evd_entry_list queued; /* its completions in the queues of its EVDs */
	/* The peer's address; dat_ep_query defines in which states it is valid. */
	DAT_SOCK_ADDR6 *remote;
	DAT_PORT_QUAL remote_port;
	void *private_data; /* of the last ESTABLISHED event on the active side */
	bool breaking;      /* one of its EVDs overflowed; the connection is being broken */
	bool recv_posted;   /* a Receive was posted since the last reset: recv flags are fixed */
	bool default_reads; /* no RDMA Read limits were given: they are fitted to the peer's */
};
_Static_assert(offsetof(struct ep, send_range.link) - offsetof(struct ep, obj.handle) <= 104,
	       "the members of a message are side by side");

/* Sets of states in which calls on an EP are legal. */
#define EP_STATE_BIT(name)  (1u << DAT_EP_STATE_##name)
#define EP_CONNECTED_STATES (EP_STATE_BIT(CONNECTED) | EP_STATE_BIT(DISCONNECT_PENDING))
#define EP_POST_STATES      (EP_STATE_BIT(CONNECTED) | EP_STATE_BIT(DISCONNECTED))
#define EP_PRECONNECT_STATES                                  \
	(EP_STATE_BIT(UNCONNECTED) | EP_STATE_BIT(RESERVED) | \
	 EP_STATE_BIT(PASSIVE_CONNECTION_PENDING) | EP_STATE_BIT(TENTATIVE_CONNECTION_PENDING))

static inline bool ep_in(const struct ep *ep, uint32_t states)
{
	return states & (1u << ep->state);
}

/* A receive completion was handed to the Consumer or discarded. */
static inline void ep_reaped(const struct nic_qp *qp)
{
	struct ep *ep = qp->ctx;

	--*ep->outstanding;
	++*qp->reaped;
}

/* ep.c */
/* Change the attributes in force. */
void ep_set_attr(struct ep *ep, const DAT_EP_ATTR *attr);
/*
 * Make an EP with the references, attributes and state of `wanted`, which the caller has checked.
 */
DAT_RETURN ep_make(struct ia *ia, const struct ep *wanted, struct ep **ep);
void ep_destroy(struct ep *ep);
/* False: an event that a shared fabric reports is impossible in the EP's state. */
bool ep_can_change(const struct ep *ep, enum ep_cause cause);
/* Change the state; the table must have a row for the cause. */
void ep_change_state(struct ep *ep, enum ep_cause cause);
/* Update obj.quick, after a change of state, SRQ, attributes or recv_posted. */
void ep_update_quick(struct ep *ep);
/* True if any of the EP's streams goes to evd. */
bool ep_feeds(const struct ep *ep, const struct evd *evd);
/* Break the connection, if there is one and it is not being broken. */
void ep_break(struct ep *ep);
/* evd overflowed: break the connections of all EPs whose completions go there. */
void ep_break_feeding(struct evd *evd);
/* The adapter failed: break all connections. */
void ep_break_all(struct dat_adapter *adapter);
/* Attach a stream to an EVD, or detach it; flags: the EP's completion flags of that stream. */
void ep_attach(struct evd *evd, DAT_COMPLETION_FLAGS flags);
void ep_detach(struct evd *evd, DAT_COMPLETION_FLAGS flags);
/* The request completion flags that concern an EVD. */
DAT_COMPLETION_FLAGS ep_request_stream_flags(const DAT_EP_ATTR *attr);
/*
 * Look up the EVD that a handle of ia names for a stream. A NULL handle gives a NULL EVD: the
 * Consumer wants no such events. False: a bad handle.
 */
bool ep_find_evd(const struct ia *ia, DAT_EVD_HANDLE handle, DAT_EVD_FLAGS stream,
		 struct evd **evd);
/* Fill in the NIC's parameters for an EP with these attributes. */
void ep_nic_init(const struct ep *ep, const DAT_EP_ATTR *attr, struct nic_qp_init *init);
/* Forget the peer and its private data. */
void ep_forget_peer(struct ep *ep);
/*
 * Copy an IPv4 or IPv6 address; sizeof(DAT_SOCK_ADDR6) bytes are read. The caller frees the copy.
 * NULL: no memory.
 */
DAT_SOCK_ADDR6 *ep_copy_address(struct nic *nic, const void *address);
/* Replace the peer; the EP owns `remote` from now on. */
void ep_set_peer(struct ep *ep, DAT_SOCK_ADDR6 *remote, DAT_PORT_QUAL port);

/* ep_attr.c: check the attributes of an EP on this adapter; *fixed gets the values in force. */
DAT_RETURN ep_attr_check(const struct dat_adapter *adapter, const DAT_EP_ATTR *attr, bool with_srq,
			 int arg, DAT_EP_ATTR *fixed);
void ep_attr_default(const struct dat_adapter *adapter, DAT_EP_ATTR *attr);
/*
 * The limits on RDMA Reads in flight, on a new connection. Neither side may start more than the
 * other serves. Limits that the Consumer set have to fit; defaults (no attributes given) are fitted
 * to the peer and restored by a reset.
 */
void ep_ask_for_reads(const struct ep *ep, struct nic_conn_param *param);
/* True if ep may accept this request; param then has the limits in force on both sides. */
bool ep_agree_on_reads(const struct ep *ep, const struct nic_conn *conn,
		       struct nic_conn_param *param);
void ep_set_reads(struct ep *ep, uint32_t in, uint32_t out);
void ep_default_reads(struct ep *ep);
bool ep_recv_flags_ok(DAT_COMPLETION_FLAGS flags);
bool ep_request_flags_ok(DAT_COMPLETION_FLAGS flags);

/* Upcalls: ep.c, connect.c */
void ep_on_soft_limit(void *qp_ctx);
void ep_on_established(void *qp_ctx, const struct nic_conn_param *peer);
void ep_on_conn_end(void *qp_ctx, enum nic_conn_end why);

const char *dto_status_name(DAT_DTO_COMPLETION_STATUS status);

#endif /* LIB_EP_H */
