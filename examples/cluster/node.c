/* SPDX-License-Identifier: BSD-3-Clause */
/* A node: its adapter, its connections, its messages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"

#define EVENTS 64

/* Events name the Endpoint; a message's cookie tells its port, and whether it was a Receive. */
#define COOKIE_RECEIVE 256u

void cluster_check(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "?";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "cluster: %s: %s %s\n", call, major, minor);
	exit(1);
}

void cluster_fail(const char *what)
{
	fprintf(stderr, "cluster: %s\n", what);
	exit(1);
}

void node_open(struct node *node, unsigned int number)
{
	DAT_REGION_DESCRIPTION region = { .for_va = node->port };
	DAT_RMR_CONTEXT rmr;
	DAT_VADDR at;
	DAT_VLEN size;
	DAT_IA_ATTR attr;
	char name[16];

	node->number = number;
	node->async = DAT_HANDLE_NULL;
	snprintf(name, sizeof(name), "emu%u", number);
	cluster_check(dat_ia_open((DAT_NAME_PTR)name, 8, &node->async, &node->ia), "dat_ia_open");
	cluster_check(dat_ia_query(node->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr,
				   DAT_PROVIDER_FIELD_NONE, NULL),
		      "dat_ia_query");
	memcpy(&node->address, attr.ia_address_ptr, sizeof(node->address));
	cluster_check(dat_pz_create(node->ia, &node->pz), "dat_pz_create");
	cluster_check(dat_evd_create(node->ia, EVENTS, DAT_HANDLE_NULL,
				     DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG,
				     &node->evd),
		      "dat_evd_create");
	cluster_check(dat_lmr_create(node->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(node->port),
				     node->pz,
				     DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
				     &node->lmr, &node->context, &rmr, &size, &at),
		      "dat_lmr_create");
	cluster_check(dat_psp_create(node->ia, CLUSTER_PORT, node->evd, DAT_PSP_CONSUMER_FLAG,
				     &node->psp),
		      "dat_psp_create");
}

void node_close(struct node *node)
{
	cluster_check(dat_psp_free(node->psp), "dat_psp_free");
	cluster_check(dat_lmr_free(node->lmr), "dat_lmr_free");
	cluster_check(dat_evd_free(node->evd), "dat_evd_free");
	cluster_check(dat_pz_free(node->pz), "dat_pz_free");
	cluster_check(dat_ia_close(node->ia, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
}

/* ---- messages ---- */

static DAT_LMR_TRIPLET segment_of(const struct node *node, struct message *message)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = node->context,
		.virtual_address = (DAT_VADDR)(uintptr_t)message,
		.segment_length = sizeof(*message),
	};
}

static void post_receive(struct node *node, int port)
{
	DAT_LMR_TRIPLET iov = segment_of(node, &node->port[port].in);
	DAT_DTO_COOKIE cookie = { .as_64 = COOKIE_RECEIVE | (unsigned int)port };

	cluster_check(dat_ep_post_recv(node->port[port].ep, 1, &iov, cookie,
				       DAT_COMPLETION_DEFAULT_FLAG),
		      "dat_ep_post_recv");
}

void node_send(struct node *node, int port, uint32_t number)
{
	struct message *out = &node->port[port].out;
	DAT_LMR_TRIPLET iov = segment_of(node, out);
	DAT_DTO_COOKIE cookie = { .as_64 = (unsigned int)port };

	*out = (struct message){ .from = node->number,
				 .to = node->port[port].peer->number,
				 .number = number };
	cluster_check(dat_ep_post_send(node->port[port].ep, 1, &iov, cookie,
				       DAT_COMPLETION_DEFAULT_FLAG),
		      "dat_ep_post_send");
	node->sent++;
}

static void node_completion(struct node *node, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct port *port = &node->port[dto->user_cookie.as_64 & (COOKIE_RECEIVE - 1)];

	if (dto->status == DAT_DTO_ERR_FLUSHED)
		return; /* the last Receive of a connection that has ended */
	if (dto->status != DAT_DTO_SUCCESS)
		cluster_fail("a message was lost");
	if (!(dto->user_cookie.as_64 & COOKIE_RECEIVE)) {
		node->acknowledged++;
		return;
	}
	if (dto->transfered_length != sizeof(port->in) || port->in.to != node->number ||
	    port->in.from != port->peer->number)
		cluster_fail("a message came to the wrong node");
	node->received++;
	post_receive(node, (int)(port - node->port));
}

/* ---- connections ---- */

static void make_endpoint(struct node *node, int port, struct node *peer)
{
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = MESSAGE_BYTES,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = 2,
		.max_request_dtos = 2,
		.max_recv_iov = 1,
		.max_request_iov = 1,
	};
	struct port *p = &node->port[port];

	cluster_check(dat_ep_create(node->ia, node->pz, node->evd, node->evd, node->evd, &attr,
				    &p->ep),
		      "dat_ep_create");
	p->peer = peer;
	post_receive(node, port);
}

void node_connect(struct node *from, int port, struct node *to, int at)
{
	unsigned char where = (unsigned char)at;

	make_endpoint(from, port, to);
	make_endpoint(to, at, from);
	cluster_check(dat_ep_connect(from->port[port].ep, (DAT_IA_ADDRESS_PTR)&to->address,
				     CLUSTER_PORT, DAT_TIMEOUT_INFINITE, sizeof(where), &where,
				     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
		      "dat_ep_connect");
}

void node_disconnect(struct node *node, int port)
{
	cluster_check(dat_ep_disconnect(node->port[port].ep, DAT_CLOSE_GRACEFUL_FLAG),
		      "dat_ep_disconnect");
}

/* The private data is the port of this node that is to be connected. */
static void node_request(struct node *node, DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM param;
	unsigned char where;

	cluster_check(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), "dat_cr_query");
	where = *(const unsigned char *)param.private_data;
	cluster_check(dat_cr_accept(cr, node->port[where].ep, 0, NULL), "dat_cr_accept");
}

static struct port *port_of(struct node *node, DAT_EP_HANDLE ep)
{
	for (int i = 0; i < NODE_PORTS; i++)
		if (node->port[i].ep == ep)
			return &node->port[i];
	cluster_fail("an event of an unknown Endpoint");
}

static void node_event(struct node *node, const DAT_EVENT *event)
{
	DAT_EP_HANDLE ep = event->event_data.connect_event_data.ep_handle;
	struct port *port;

	switch (event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
		node_completion(node, &event->event_data.dto_completion_event_data);
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		node_request(node, event->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		port_of(node, ep)->connected = 1;
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		port = port_of(node, ep);
		cluster_check(dat_ep_free(port->ep), "dat_ep_free");
		*port = (struct port){ .ep = DAT_HANDLE_NULL };
		break;
	default:
		fprintf(stderr, "cluster: node %u: event %#x\n", node->number, event->event_number);
		exit(1);
	}
}

int node_step(struct node *node)
{
	DAT_EVENT event;
	int n = 0;

	while (dat_evd_dequeue(node->evd, &event) == DAT_SUCCESS) {
		node_event(node, &event);
		n++;
	}
	return n;
}
