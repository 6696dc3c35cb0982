/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices of link layer Ethernet, with names of the program's choice: DATSIM_LINK_LAYER and
 * DATSIM_VERBS_NAME, which are read once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/support.h"
#include "verbs_pair.h"

static struct verbs_end a, b;

static void set_way(struct ibv_ah_attr *way, const struct verbs_end *to, int gid)
{
	*way = (struct ibv_ah_attr){ .port_num = 1, .is_global = 1 };
	way->dlid = 77; /* of no use there */
	way->grh.hop_limit = 1;
	way->grh.sgid_index = (uint8_t)gid;
	ck_assert_int_eq(ibv_query_gid(to->context, 1, gid, &way->grh.dgid), 0);
}

static void connect_to(struct verbs_end *end, const struct verbs_end *peer, int gid)
{
	struct ibv_qp_attr attr;

	for (int i = IBV_QPS_INIT; i <= IBV_QPS_RTS; i++) {
		attr = verbs_attr(end, peer);
		attr.qp_state = (enum ibv_qp_state)i;
		set_way(&attr.ah_attr, peer, gid);
		ck_assert_int_eq(ibv_modify_qp(end->qp, &attr,
					       verbs_mask_of(end->qp->qp_type, attr.qp_state)),
				 0);
	}
}

static void open_both(enum ibv_qp_type type)
{
	verbs_open(&a, 0);
	verbs_open(&b, 1);
	a.type = b.type = type;
	verbs_make_qp(&a);
	verbs_make_qp(&b);
}

START_TEST(devices_have_the_names_and_the_link_layer)
{
	struct ibv_gid_entry entry;
	struct ibv_device **list;
	int n;

	open_both(IBV_QPT_RC);
	list = ibv_get_device_list(&n);
	ck_assert_int_eq(n, 2);
	ck_assert_str_eq(ibv_get_device_name(list[1]), "roce_1");
	ck_assert_str_eq(list[1]->ibdev_path, "/sys/class/infiniband/roce_1");
	ibv_free_device_list(list);
	ck_assert_int_eq(a.port.link_layer, IBV_LINK_LAYER_ETHERNET);
	ck_assert_uint_eq(a.port.lid, 0);
	ck_assert_int_eq(ibv_query_gid_ex(a.context, 1, 0, &entry, 0), 0);
	ck_assert_uint_eq(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(an_address_without_a_gid_is_refused)
{
	struct ibv_ah_attr way = { .dlid = 2, .port_num = 1 };
	struct ibv_qp_attr attr;

	open_both(IBV_QPT_RC);
	ck_assert_int_eq(verbs_modify(&a, &b, IBV_QPS_INIT), 0);
	attr = verbs_attr(&a, &b);
	attr.qp_state = IBV_QPS_RTR;
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, verbs_mask(IBV_QPS_RTR)), EINVAL);
	ck_assert_int_eq((int)a.qp->state, (int)IBV_QPS_INIT);
	errno = 0;
	ck_assert_ptr_null(ibv_create_ah(a.pd, &way));
	ck_assert_int_eq(errno, EINVAL);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(messages_go_by_either_gid)
{
	struct ibv_wc wc;

	for (int gid = 0; gid < 2; gid++) {
		open_both(IBV_QPT_RC);
		connect_to(&a, &b, gid);
		connect_to(&b, &a, gid);
		ck_assert_int_eq(verbs_recv(&b, 11, 1024, 64), 0);
		memset(a.buffer, 'x', 64);
		ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 64, 0), 0);
		ck_assert(verbs_poll(&b, &wc) && wc.status == IBV_WC_SUCCESS);
		ck_assert_mem_eq(b.buffer + 1024, a.buffer, 64);
		verbs_end_all(&a, &b);
	}
}
END_TEST

START_TEST(a_datagram_is_answered_by_its_grh)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .num_sge = 1, .sg_list = &sge, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_ah_attr way;
	struct ibv_wc wc;

	open_both(IBV_QPT_UD);
	verbs_connect(&a, &b);
	ck_assert_int_eq(verbs_recv(&a, 11, 1024, 128), 0);
	ck_assert_int_eq(verbs_recv(&b, 11, 1024, 128), 0);
	set_way(&way, &b, 1);
	sge = (struct ibv_sge){ (uintptr_t)a.buffer, 8, a.mr->lkey };
	wr.wr.ud.ah = ibv_create_ah(a.pd, &way);
	wr.wr.ud.remote_qpn = b.qp->qp_num;
	wr.wr.ud.remote_qkey = VERBS_QKEY;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	ck_assert(verbs_poll(&b, &wc) && (wc.wc_flags & IBV_WC_GRH) && wc.slid == 0);
	ck_assert_int_eq(ibv_destroy_ah(wr.wr.ud.ah), 0);
	wr.wr.ud.ah = ibv_create_ah_from_wc(b.pd, &wc, (struct ibv_grh *)(b.buffer + 1024), 1);
	ck_assert_ptr_nonnull(wr.wr.ud.ah);
	sge = (struct ibv_sge){ (uintptr_t)b.buffer, 8, b.mr->lkey };
	wr.wr.ud.remote_qpn = wc.src_qp;
	ck_assert_int_eq(ibv_post_send(b.qp, &wr, &bad), 0);
	ck_assert(verbs_poll(&a, &wc) && wc.src_qp == b.qp->qp_num);
	ck_assert_int_eq(ibv_destroy_ah(wr.wr.ud.ah), 0);
	verbs_end_all(&a, &b);
}
END_TEST

/* ::ffff:239.1.2.3 */
static const union ibv_gid group = { .raw = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 } };

START_TEST(the_mapped_address_of_an_ipv4_group_is_a_group)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .num_sge = 1, .sg_list = &sge, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_ah_attr way = { .port_num = 1, .is_global = 1, .grh = { .dgid = group } };
	union ibv_gid other = group;
	struct ibv_wc wc;

	open_both(IBV_QPT_UD);
	verbs_connect(&a, &b);
	ck_assert_int_eq(verbs_recv(&b, 11, 1024, 128), 0);
	ck_assert_int_eq(ibv_attach_mcast(b.qp, &group, 0), 0);
	sge = (struct ibv_sge){ (uintptr_t)a.buffer, 8, a.mr->lkey };
	wr.wr.ud.ah = ibv_create_ah(a.pd, &way);
	ck_assert_ptr_nonnull(wr.wr.ud.ah);
	wr.wr.ud.remote_qpn = 0xffffff;
	wr.wr.ud.remote_qkey = VERBS_QKEY;
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	ck_assert(verbs_poll(&b, &wc) && wc.src_qp == a.qp->qp_num);
	ck_assert_int_eq(ibv_destroy_ah(wr.wr.ud.ah), 0);
	ck_assert_int_eq(ibv_detach_mcast(b.qp, &group, 0), 0);
	other.raw[12] = 198; /* an address of one host */
	ck_assert_int_eq(ibv_attach_mcast(b.qp, &other, 0), EINVAL);
	verbs_end_all(&a, &b);
}
END_TEST

static void fill(Suite *suite)
{
	setenv("DATSIM_LINK_LAYER", "ethernet", 1);
	setenv("DATSIM_VERBS_NAME", "roce_", 1);
	unit_add(suite, devices_have_the_names_and_the_link_layer, 1, NULL);
	unit_add(suite, an_address_without_a_gid_is_refused, 1, NULL);
	unit_add(suite, messages_go_by_either_gid, 1, NULL);
	unit_add(suite, a_datagram_is_answered_by_its_grh, 1, NULL);
	unit_add(suite, the_mapped_address_of_an_ipv4_group_is_a_group, 1, NULL);
}

UNIT_SUITE("verbs_ethernet")
