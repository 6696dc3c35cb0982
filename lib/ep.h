/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ep.h - Endpoints.
 *
 * An EP references its PZ, up to three EVDs and its SRQ; each counts its users. Receives that an EP
 * without SRQ has outstanding are counted here from post to reap; those of an SRQ at the SRQ.
 *
 * Watermarks: `soft` and `hard` are what the Consumer set. The NIC holds the armed limits and counts
 * what is taken and not reaped (nic.h: qp_taken_limit, nic_qp.reaped); the soft one comes back as
 * ep_on_soft_limit, the hard one as a broken connection.
 */
#ifndef LIB_EP_H
#define LIB_EP_H

#include "ep_state.h"
#include "evd.h"
#include "lmr.h"
#include "srq.h"

struct pz;

struct ep {
	struct obj obj;
	struct nic_qp *nic;
	struct pz *pz; /* NULL: made for a request, and not accepted yet */
	struct evd *recv_evd, *request_evd, *connect_evd; /* NULL: not interested */
	struct srq *srq;                                  /* NULL: its own receive queue */
	DAT_EP_STATE state;
	DAT_EP_ATTR attr; /* in force; lists are never kept */
	DAT_COUNT recv_outstanding;
	DAT_COUNT *outstanding; /* what reaping counts down: that, or the SRQ's */
	DAT_COUNT soft, hard;
	struct async_note soft_note;
	struct lmr_window send_window, recv_window;
	/* Where it is connected, or tries to; valid as dat_ep_query says. */
	struct sockaddr_storage *remote;
	DAT_PORT_QUAL remote_port;
	void *private_data; /* of the last ESTABLISHED, active side */
	bool breaking;      /* an EVD it feeds overflowed; the end is on its way */
	bool recv_posted;   /* since creation or reset: recv flags are fixed */
	bool default_reads; /* its RDMA Read limits are ours to adapt to the peer: ep_agree_on_reads */
};

/* The states in which a call on the EP is legal. */
#define EP_STATE_BIT(name)  (1u << DAT_EP_STATE_##name)
#define EP_CONNECTED_STATES (EP_STATE_BIT(CONNECTED) | EP_STATE_BIT(DISCONNECT_PENDING))
#define EP_POST_STATES      (EP_STATE_BIT(CONNECTED) | EP_STATE_BIT(DISCONNECTED))
#define EP_QUIET_STATES                                       \
	(EP_STATE_BIT(UNCONNECTED) | EP_STATE_BIT(RESERVED) | \
	 EP_STATE_BIT(PASSIVE_CONNECTION_PENDING) | EP_STATE_BIT(TENTATIVE_CONNECTION_PENDING))

static inline bool ep_in(const struct ep *ep, uint32_t states)
{
	return states & (1u << ep->state);
}

/* A receive completion was handed to the program or thrown away. */
static inline void ep_reaped(const struct nic_qp *qp)
{
	struct ep *ep = qp->ctx;

	--*ep->outstanding;
	++*qp->reaped;
}

/* ep.c */
/* An EP like `wanted`: references, attributes, state; the caller has checked them. */
DAT_RETURN ep_make(struct ia *ia, const struct ep *wanted, struct ep **ep);
void ep_destroy(struct ep *ep);
/* The state changes for a cause that the table has a row for. */
/* False: what an adapter says of it cannot be. */
bool ep_can_change(const struct ep *ep, enum ep_cause cause);
void ep_change_state(struct ep *ep, enum ep_cause cause);
/* After a change of what decides whether a post is a quick one. */
void ep_update_quick(struct ep *ep);
/* Does it send events of any stream to evd? */
bool ep_feeds(const struct ep *ep, const struct evd *evd);
/* evd overflowed: every connected EP whose completions go there breaks. */
void ep_break_feeding(struct evd *evd);
/* The adapter failed: every connection breaks. */
void ep_break_all(struct adapter *adapter);
/* Attach or detach a stream; flags: the EP's completion flags of that stream. */
void ep_attach(struct evd *evd, DAT_COMPLETION_FLAGS flags);
void ep_detach(struct evd *evd, DAT_COMPLETION_FLAGS flags);
/* The request flags that matter to an EVD. */
DAT_COMPLETION_FLAGS ep_request_stream_flags(const DAT_EP_ATTR *attr);
/* The EVD a handle of ia names, for a stream; NULL is one, too: not interested. False: a bad handle. */
bool ep_find_evd(const struct ia *ia, DAT_EVD_HANDLE handle, DAT_EVD_FLAGS stream,
		 struct evd **evd);
/* What nic.h wants to know of an EP with this attr. */
void ep_nic_init(const struct ep *ep, const DAT_EP_ATTR *attr, struct nic_qp_init *init);
/* Forget the peer and its private data. */
void ep_forget_peer(struct ep *ep);
/* A new peer instead of the last one; `remote` is the EP's from now on. */
void ep_set_peer(struct ep *ep, struct sockaddr_storage *remote, DAT_PORT_QUAL port);

/* ep_attr.c: may an EP of this adapter have such attributes; *fixed gets the values in force. */
DAT_RETURN ep_attr_check(const struct adapter *adapter, const DAT_EP_ATTR *attr, bool with_srq,
			 int arg, DAT_EP_ATTR *fixed);
void ep_attr_default(const struct adapter *adapter, DAT_EP_ATTR *attr);
/*
 * RDMA Reads under way at a time, on a new connection. No side may start more than the other serves. What
 * the Consumer set has to fit; defaults (no attributes given) are fitted to the peer, and back by reset.
 */
void ep_ask_for_reads(const struct ep *ep, struct nic_conn_param *param);
/* May ep answer this request? Then param says what is in force on both sides. */
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
