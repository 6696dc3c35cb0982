/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program for calls.sh: makes each call of libibverbs or, with the word "cm", of librdmacm that
 * has a line in the trace, and some that are refused. With "port" it asks for its port after a
 * fault, with "child" a child of it does.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORT  7471
#define BYTES 4096

static void need(bool good, const char *what)
{
	if (good)
		return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

/* A call that returns 0, and one that fails. */
#define DO(call)     need((call) == 0, #call)
#define REFUSE(call) need((call) != 0, #call)

/* ---- libibverbs ---- */

static struct ibv_context *device;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_qp *qp;
static char buffer[BYTES];

static void ask_device(void)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_device_attr_ex attr_ex;
	struct ibv_gid_entry entries[4];
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	__be16 pkey;

	DO(ibv_query_device(device, &attr));
	DO(ibv_query_device_ex(device, NULL, &attr_ex));
	DO(ibv_query_port(device, 1, &port));
	DO(ibv_query_gid(device, 1, 1, &gid));
	DO(ibv_query_gid_ex(device, 1, 1, entries, 0));
	need(ibv_query_gid_table(device, entries, 4, 0) == 2, "GIDs");
	DO(ibv_query_pkey(device, 1, 0, &pkey));
	DO(ibv_get_pkey_index(device, 1, pkey));
	DO(ibv_query_rt_values_ex(device, &values));
	REFUSE(ibv_query_port(device, 2, &port));
	REFUSE(ibv_query_gid(device, 1, 9, &gid));
	REFUSE(ibv_query_gid_ex(device, 1, 9, entries, 0));
}

static void open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	need(list && list[0], "device");
	device = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	need(device != NULL, "device");
}

static void make_queues(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = 2 }, attr;

	pd = ibv_alloc_pd(device);
	mr = ibv_reg_mr(pd, buffer, BYTES, IBV_ACCESS_LOCAL_WRITE);
	DO(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND));
	REFUSE(ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0));
	REFUSE(ibv_dealloc_pd(pd));
	channel = ibv_create_comp_channel(device);
	cq = ibv_create_cq(device, 8, NULL, channel, 0);
	DO(ibv_resize_cq(cq, 16));
	REFUSE(ibv_resize_cq(cq, 0));
	need(!ibv_create_cq(device, 0, NULL, NULL, 0), "refusal");
	srq = ibv_create_srq(pd, &init);
	DO(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT));
	DO(ibv_query_srq(srq, &attr));
}

static struct ibv_qp_init_attr_ex qp_init(enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr_ex){ .send_cq = cq,
					     .recv_cq = cq,
					     .srq = type == IBV_QPT_RC ? srq : NULL,
					     .cap = { 4, 4, 1, 1, 0 },
					     .qp_type = type,
					     .comp_mask = IBV_QP_INIT_ATTR_PD |
							  IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					     .pd = pd,
					     .send_ops_flags = IBV_QP_EX_WITH_SEND };
}

/* The queue pair's peer is itself. */
static void connect_self(void)
{
	struct ibv_port_attr port;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	const int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	const int rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

	DO(ibv_query_port(device, 1, &port));
	DO(ibv_modify_qp(qp, &attr, init));
	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	DO(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS));
	attr.qp_state = IBV_QPS_RTR;
	attr.ah_attr = (struct ibv_ah_attr){ .dlid = port.lid, .port_num = 1 };
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = qp->qp_num;
	DO(ibv_modify_qp(qp, &attr, rtr));
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	DO(ibv_modify_qp(qp, &attr, rts));
}

static void make_qp(void)
{
	struct ibv_qp_init_attr_ex init = qp_init(IBV_QPT_RC);
	struct ibv_qp_init_attr had;
	struct ibv_ece ece = { .vendor_id = 0 };
	struct ibv_qp_ex *ex;
	struct ibv_qp_attr attr;

	init.cap.max_send_wr = 1u << 30;
	need(!ibv_create_qp_ex(device, &init), "refusal");
	init.cap.max_send_wr = 4;
	qp = ibv_create_qp_ex(device, &init);
	need(qp != NULL, "queue pair");
	REFUSE(ibv_query_ece(qp, &ece));
	REFUSE(ibv_set_ece(qp, &ece));
	DO(ibv_query_qp_data_in_order(qp, IBV_WR_SEND, 0));
	connect_self();
	DO(ibv_query_qp(qp, &attr, IBV_QP_STATE, &had));
	ex = ibv_qp_to_qp_ex(qp);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_abort(ex);
}

/* A message, whose Receive leaves the SRQ below its limit. */
static void send_one(void)
{
	struct ibv_sge sge = { (uintptr_t)buffer, 8, mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .wr_id = 2,
				    .sg_list = &sge,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_async_event event;
	struct ibv_cq *from;
	struct ibv_wc wc;
	void *context;

	for (int i = 0; i < 2; i++)
		DO(ibv_post_srq_recv(srq, &recv, &bad_recv));
	DO(ibv_req_notify_cq(cq, 0));
	DO(ibv_post_send(qp, &send, &bad));
	DO(ibv_get_cq_event(channel, &from, &context));
	ibv_ack_cq_events(cq, 1);
	for (int n = 0; n < 2;)
		n += ibv_poll_cq(cq, 1, &wc);
	DO(ibv_get_async_event(device, &event));
	ibv_ack_async_event(&event);
}

static void bind_one(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .wr_id = 3,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { .mr = mr,
						   .addr = (uintptr_t)buffer,
						   .length = 8,
						   .mw_access_flags = IBV_ACCESS_REMOTE_READ } };
	struct ibv_wc wc;

	need(mw != NULL, "window");
	DO(ibv_bind_mw(qp, mw, &bind));
	while (ibv_poll_cq(cq, 1, &wc) == 0)
		continue;
	bind.bind_info.mw_access_flags = 1u << 30;
	REFUSE(ibv_bind_mw(qp, mw, &bind));
	DO(ibv_dealloc_mw(mw));
}

static void join_one(void)
{
	struct ibv_qp_init_attr_ex init = qp_init(IBV_QPT_UD);
	struct ibv_qp *ud = ibv_create_qp_ex(device, &init);
	union ibv_gid gid = { .raw = { 0xff, 0x12, [15] = 7 } };

	need(ud != NULL, "queue pair of type UD");
	DO(ibv_attach_mcast(ud, &gid, 0xc000));
	DO(ibv_detach_mcast(ud, &gid, 0xc000));
	REFUSE(ibv_attach_mcast(qp, &gid, 0xc000));
	DO(ibv_destroy_qp(ud));
}

static void use_verbs(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	open_first();
	ask_device();
	make_queues();
	make_qp();
	send_one();
	bind_one();
	join_one();
	DO(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	DO(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	DO(ibv_close_device(device));
}

/* A fault takes the port down. */
static void use_port(void)
{
	struct ibv_async_event event;
	struct ibv_port_attr port;

	open_first();
	DO(ibv_get_async_event(device, &event));
	ibv_ack_async_event(&event);
	DO(ibv_query_port(device, 1, &port));
	DO(ibv_close_device(device));
}

/* A child asks about its parent's device. */
static void use_child(void)
{
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	int status;
	pid_t pid;

	open_first();
	pd = ibv_alloc_pd(device);
	pid = fork();
	if (pid == 0)
		_exit(ibv_query_device(device, &attr) || ibv_query_port(device, 1, &port));
	need(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "child");
	DO(ibv_close_device(device));
}

/* ---- librdmacm ---- */

static struct rdma_event_channel *events;
static struct rdma_cm_id *listener, *client, *server;

static struct sockaddr_in address(const char *ip, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, ip, &in.sin_addr);
	return in;
}

static void await(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	do
		DO(rdma_get_cm_event(events, &event));
	while (event->event != type && rdma_ack_cm_event(event) == 0);
	DO(rdma_ack_cm_event(event));
}

static void begin_listening(void)
{
	struct sockaddr_in in = address("198.18.0.2", PORT);
	struct rdma_addrinfo info = { .ai_flags = RAI_PASSIVE,
				      .ai_qp_type = IBV_QPT_RC,
				      .ai_port_space = RDMA_PS_TCP,
				      .ai_src_len = sizeof(in),
				      .ai_src_addr = (struct sockaddr *)&in };

	events = rdma_create_event_channel();
	need(events != NULL, "channel");
	DO(rdma_create_ep(&listener, &info, NULL, NULL));
	DO(rdma_listen(listener, 1));
	REFUSE(rdma_listen(listener, 1));
}

static void begin_client(void)
{
	struct sockaddr_in here = address("198.18.0.1", 0), there = address("198.18.0.2", PORT);

	DO(rdma_create_id(events, &client, NULL, RDMA_PS_TCP));
	DO(rdma_bind_addr(client, (struct sockaddr *)&here));
	REFUSE(rdma_bind_addr(client, (struct sockaddr *)&here));
	REFUSE(rdma_resolve_route(client, 1000));
	DO(rdma_resolve_addr(client, NULL, (struct sockaddr *)&there, 1000));
	await(RDMA_CM_EVENT_ADDR_RESOLVED);
	REFUSE(rdma_resolve_addr(client, NULL, (struct sockaddr *)&there, 1000));
	DO(rdma_resolve_route(client, 1000));
	await(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static void refuse_client(void)
{
	uint8_t code = 99;

	REFUSE(rdma_establish(client));
	REFUSE(rdma_notify(client, IBV_EVENT_COMM_EST));
	REFUSE(rdma_set_option(client, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &code, 1));
	REFUSE(rdma_reject(client, NULL, 0));
	REFUSE(rdma_disconnect(client));
	REFUSE(rdma_accept(client, NULL));
	REFUSE(rdma_get_request(client, &server));
}

/* To the next state, as a program does that has a queue pair of its own. */
static void move_own(struct ibv_qp *own, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	DO(rdma_init_qp_attr(client, &attr, &mask));
	DO(ibv_modify_qp(own, &attr, mask));
}

/* The server has a queue pair of librdmacm's. */
static void accept_one(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_init_attr_ex attr_ex = { .attr = { .max_wr = 4, .max_sge = 1 },
						.comp_mask = IBV_SRQ_INIT_ATTR_TYPE };
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct rdma_conn_param param = { .retry_count = 7 };

	DO(rdma_get_request(listener, &server));
	DO(rdma_migrate_id(server, events));
	DO(rdma_create_srq_ex(server, &attr_ex));
	rdma_destroy_srq(server);
	DO(rdma_create_srq(server, NULL, &attr));
	DO(rdma_create_qp(server, NULL, &init));
	DO(rdma_accept(server, &param));
}

static void connect_one(void)
{
	struct rdma_conn_param param = { .retry_count = 7 };
	struct ibv_ece ece = { .vendor_id = 1 };
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_qp *own;
	uint8_t tos = 3;

	init.send_cq = init.recv_cq = ibv_create_cq(client->verbs, 8, NULL, NULL, 0);
	own = ibv_create_qp(client->pd, &init);
	need(own != NULL, "queue pair");
	DO(rdma_set_option(client, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
	DO(rdma_set_local_ece(client, &ece));
	move_own(own, IBV_QPS_INIT);
	param.qp_num = own->qp_num;
	DO(rdma_connect(client, &param));
	accept_one();
	await(RDMA_CM_EVENT_CONNECT_RESPONSE);
	DO(rdma_get_remote_ece(client, &ece));
	move_own(own, IBV_QPS_RTR);
	move_own(own, IBV_QPS_RTS);
	DO(rdma_establish(client));
	DO(rdma_notify(server, IBV_EVENT_COMM_EST));
	await(RDMA_CM_EVENT_ESTABLISHED);
	DO(rdma_disconnect(client));
	await(RDMA_CM_EVENT_DISCONNECTED);
	DO(ibv_destroy_qp(own));
	DO(ibv_destroy_cq(init.send_cq));
	rdma_destroy_qp(server);
	rdma_destroy_srq(server);
	DO(rdma_destroy_id(server));
	DO(rdma_destroy_id(client));
}

static void reject_one(int (*reject)(struct rdma_cm_id *id, const void *data, uint8_t size))
{
	struct rdma_conn_param param = { .qp_num = 99 };

	begin_client();
	DO(rdma_connect(client, &param));
	DO(rdma_get_request(listener, &server));
	DO(reject(server, NULL, 0));
	await(RDMA_CM_EVENT_REJECTED);
	DO(rdma_destroy_id(server));
	DO(rdma_destroy_id(client));
}

static void join_groups(void)
{
	struct sockaddr_in here = address("198.18.0.1", 0), one = address("239.1.2.3", 0);
	struct sockaddr_in other = address("239.1.2.4", 0);
	struct rdma_cm_join_mc_attr_ex attr = { .comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
							     RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
						.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
						.addr = (struct sockaddr *)&other };
	struct ibv_qp_init_attr_ex init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_UD };

	DO(rdma_create_id(events, &client, NULL, RDMA_PS_UDP));
	DO(rdma_bind_addr(client, (struct sockaddr *)&here));
	DO(rdma_create_qp_ex(client, &init));
	DO(rdma_join_multicast(client, (struct sockaddr *)&one, NULL));
	await(RDMA_CM_EVENT_MULTICAST_JOIN);
	DO(rdma_join_multicast_ex(client, &attr, NULL));
	await(RDMA_CM_EVENT_MULTICAST_JOIN);
	DO(rdma_leave_multicast(client, (struct sockaddr *)&one));
	DO(rdma_leave_multicast(client, (struct sockaddr *)&other));
	REFUSE(rdma_leave_multicast(client, (struct sockaddr *)&other));
	rdma_destroy_qp(client);
	DO(rdma_destroy_id(client));
}

static void use_cm(void)
{
	begin_listening();
	begin_client();
	refuse_client();
	connect_one();
	reject_one(rdma_reject);
	reject_one(rdma_reject_ece);
	join_groups();
	rdma_destroy_ep(listener);
	rdma_destroy_event_channel(events);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "cm") == 0)
		use_cm();
	else if (strcmp(what, "port") == 0)
		use_port();
	else if (strcmp(what, "child") == 0)
		use_child();
	else
		use_verbs();
	return 0;
}
