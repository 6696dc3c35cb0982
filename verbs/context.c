/* SPDX-License-Identifier: BSD-3-Clause */
/* context.c - queries of an open device and its port, and the table of calls in its context. */
#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gone.h"
#include "host/nic_process.h"
#include "trace.h"
#include "vb.h"
#include "wait.h"

#define RD_ATOMIC_MAX  128 /* a field of struct ibv_qp_attr has 8 bits */
#define WIDTH_4X       2   /* of PortInfo, as the field of struct ibv_port_attr has it */
#define SPEED_EDR      32
#define PHYS_LINK_UP   5
#define PHYS_POLLING   2  /* for a link */
#define PHYS_DISABLED  3  /* what drivers of Ethernet say of a port without a link */
#define SUBNET_TIMEOUT 18 /* one second: what subnet managers set */
#define NS_PER_S       1000000000ul
#define VENDOR_ID      0x020000 /* a locally administered OUI, as the GUIDs have */

/* ---- the device ---- */

/* What RNICs do not have. */
static void fill_infiniband(struct ibv_device_attr *attr)
{
	attr->device_cap_flags |= IBV_DEVICE_RC_RNR_NAK_GEN;
	attr->atomic_cap = IBV_ATOMIC_HCA;
	attr->max_ah = VB_AHS;
	attr->max_mcast_grp = attr->max_mcast_qp_attach = attr->max_total_mcast_qp_attach =
		VB_MEMBERS;
}

static void fill_device(const struct vb_context *context, struct ibv_device_attr *attr)
{
	const struct vb_device *device = VB_OF(context->ex.context.device, device);
	const struct nic_attr *nic = &context->adapter->base.attr;

	memset(attr, 0, sizeof(*attr));
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%u.%u", nic->fw_major, nic->fw_minor);
	attr->node_guid = attr->sys_image_guid = htobe64(vb_device_guid(device));
	attr->max_mr_size = nic->max_mr_size;
	attr->page_size_cap = ~0xffful;
	attr->vendor_id = VENDOR_ID;
	attr->vendor_part_id = 1;
	attr->hw_ver = nic->hw_major;
	attr->max_qp = nic->max_qp;
	attr->max_qp_wr = nic->max_qp_wr;
	attr->device_cap_flags = IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_MEM_WINDOW |
				 IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	if (nic->max_srq)
		attr->device_cap_flags |= IBV_DEVICE_SRQ_RESIZE;
	/* One segment is the library's: post.c. */
	attr->max_sge = attr->max_sge_rd = nic->max_sge - 1;
	attr->max_cq = nic->max_cq;
	attr->max_cqe = nic->max_cqe;
	attr->max_mr = nic->max_mr;
	attr->max_mw = nic->max_mw;
	attr->max_pd = nic->max_pd;
	attr->max_qp_rd_atom = nic->max_rd_atomic_in < RD_ATOMIC_MAX ? nic->max_rd_atomic_in
								     : RD_ATOMIC_MAX;
	attr->max_qp_init_rd_atom = nic->max_rd_atomic_out < RD_ATOMIC_MAX ? nic->max_rd_atomic_out
									   : RD_ATOMIC_MAX;
	attr->max_res_rd_atom = attr->max_qp_rd_atom * attr->max_qp;
	attr->max_srq = nic->max_srq;
	attr->max_srq_wr = nic->max_srq_wr;
	attr->max_srq_sge = nic->max_sge - 1;
	attr->max_pkeys = 1;
	attr->local_ca_ack_delay = 15;
	attr->phys_port_cnt = 1;
	if (!vb_setting_iwarp())
		fill_infiniband(attr);
}

void vb_device_attr(struct ibv_context *ibv, struct ibv_device_attr *attr)
{
	fill_device(vb_context_of(ibv), attr);
}

VB_NEW(ibv_query_device);
int ibv_query_device(struct ibv_context *ibv, struct ibv_device_attr *attr)
{
	if (vb_is_closed(ibv))
		return EINVAL;
	fill_device(vb_context_of(ibv), attr);
	return vb_asked(ibv, "ibv_query_device", 0);
}

/* Structs of programs that were built with another header are shorter, or longer. */
static int query_device_ex(struct ibv_context *ibv, const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *out, size_t size)
{
	struct ibv_device_attr_ex attr = { .completion_timestamp_mask = UINT64_MAX,
					   .hca_core_clock = VB_CLOCK_KHZ,
					   .phys_port_cnt_ex = 1 };

	(void)input;
	if (size < sizeof(attr.orig_attr))
		return -vb_asked(ibv, "ibv_query_device_ex", -EINVAL);
	fill_device(vb_context_of(ibv), &attr.orig_attr);
	attr.device_cap_flags_ex = attr.orig_attr.device_cap_flags;
	memset(out, 0, size);
	memcpy(out, &attr, size < sizeof(attr) ? size : sizeof(attr));
	return vb_asked(ibv, "ibv_query_device_ex", 0);
}

uint64_t vb_now(struct ibv_context *ibv)
{
	struct vb_context *context = vb_enter(ibv);
	uint64_t now = context->nic->ops->now(context->nic);

	vb_leave(context);
	return now;
}

static int query_rt_values(struct ibv_context *ibv, struct ibv_values_ex *values)
{
	uint64_t now;

	if (values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
		return -vb_asked(ibv, "ibv_query_rt_values_ex", -EOPNOTSUPP);
	if (!values->comp_mask)
		return vb_asked(ibv, "ibv_query_rt_values_ex", 0);
	now = vb_now(ibv);
	values->raw_clock = (struct timespec){ .tv_sec = (time_t)(now / NS_PER_S),
					       .tv_nsec = (long)(now % NS_PER_S) };
	return vb_asked(ibv, "ibv_query_rt_values_ex", 0);
}

/* ---- its port ---- */

static enum ibv_mtu mtu_code(uint32_t bytes)
{
	enum ibv_mtu code = IBV_MTU_256;

	while (code < IBV_MTU_4096 && 256u << (code - IBV_MTU_256 + 1) <= bytes)
		code++;
	return code;
}

void vb_port(struct ibv_context *ibv, struct ibv_port_attr *port)
{
	const struct nic_attr *nic = &vb_context_of(ibv)->adapter->base.attr;
	struct ibv_port_attr attr = {
		.state = IBV_PORT_ACTIVE,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = mtu_code(nic->mtu),
		.gid_tbl_len = VB_GIDS,
		.port_cap_flags = IBV_PORT_SYS_IMAGE_GUID_SUP | IBV_PORT_CM_SUP,
		.max_msg_sz = (uint32_t)nic->max_msg_size,
		.pkey_tbl_len = 1,
		.lid = nic->number,
		.sm_lid = 1,
		.max_vl_num = 1,
		.subnet_timeout = SUBNET_TIMEOUT,
		.active_width = WIDTH_4X,
		.active_speed = SPEED_EDR,
		.phys_state = PHYS_LINK_UP,
		.link_layer = IBV_LINK_LAYER_INFINIBAND,
	};

	if (vb_setting_ethernet()) {
		attr.link_layer = IBV_LINK_LAYER_ETHERNET;
		attr.lid = attr.sm_lid = 0;
		attr.flags = vb_setting_iwarp() ? 0 : IBV_QPF_GRH_REQUIRED;
	}
	if (__atomic_load_n(&vb_context_of(ibv)->adapter->port_down, __ATOMIC_RELAXED)) {
		attr.state = IBV_PORT_DOWN;
		attr.phys_state = vb_setting_ethernet() ? PHYS_DISABLED : PHYS_POLLING;
	}
	*port = attr;
}

static int query_port(struct ibv_context *ibv, uint8_t port, struct ibv_port_attr *out, size_t size)
{
	struct vb_context *context;
	struct ibv_port_attr attr;

	if (vb_is_closed(ibv) || port != VB_PORT)
		return -vb_asked(ibv, "ibv_query_port", -EINVAL);
	vb_port(ibv, &attr);
	memset(out, 0, size);
	memcpy(out, &attr, size < sizeof(attr) ? size : sizeof(attr));
	context = vb_enter(ibv);
	vb_context_trace(context, "ibv_query_port state=%s",
			 attr.state == IBV_PORT_ACTIVE ? "ACTIVE" : "DOWN");
	vb_idle(vb_backend(context), context->nic);
	return vb_result(context, 0);
}

/* The form of programs that were built with headers before struct ibv_port_attr grew. */
VB_NEW(ibv_query_port);
int ibv_query_port(struct ibv_context *ibv, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	return query_port(ibv, port, (struct ibv_port_attr *)attr,
			  offsetof(struct ibv_port_attr, port_cap_flags2));
}

union ibv_gid vb_gid(const struct vb_context *context, int index)
{
	const struct sockaddr_in *in =
		(const struct sockaddr_in *)&context->adapter->base.attr.addr;
	const struct vb_device *device = VB_OF(context->ex.context.device, device);
	union ibv_gid gid = { .raw = { 0 } };

	if (index == 0) {
		gid.global.subnet_prefix = htobe64(0xfe80000000000000ul);
		gid.global.interface_id = htobe64(vb_device_guid(device));
	} else {
		gid.raw[10] = gid.raw[11] = 0xff;
		memcpy(gid.raw + 12, &in->sin_addr, 4);
	}
	return gid;
}

static bool has_gid(uint32_t port, uint32_t index)
{
	return port == VB_PORT && index < VB_GIDS;
}

/* As every query of libibverbs that reads a table: -1 and errno. */
static int no_entry(void)
{
	errno = EINVAL;
	return -1;
}

/* The same, or 0, with the call's line. */
static int answer_entry(struct ibv_context *ibv, const char *call, bool found)
{
	vb_asked(ibv, call, found ? 0 : -EINVAL);
	return found ? 0 : no_entry();
}

VB_NEW(ibv_query_gid);
int ibv_query_gid(struct ibv_context *ibv, uint8_t port, int index, union ibv_gid *gid)
{
	if (vb_is_closed(ibv) || index < 0 || !has_gid(port, (uint32_t)index))
		return answer_entry(ibv, "ibv_query_gid", false);
	*gid = vb_gid(vb_context_of(ibv), index);
	return answer_entry(ibv, "ibv_query_gid", true);
}

/* Declared in a header for drivers only. 0 is IB or RoCE v1, 1 is RoCE v2, as sysfs has it. */
int ibv_query_gid_type(struct ibv_context *ibv, uint8_t port, unsigned int index, int *type);
int ibv_query_gid_type(struct ibv_context *ibv, uint8_t port, unsigned int index, int *type)
{
	if (vb_is_closed(ibv) || !has_gid(port, index))
		return answer_entry(ibv, "ibv_query_gid_type", false);
	*type = vb_setting_ethernet();
	return answer_entry(ibv, "ibv_query_gid_type", true);
}

static void fill_gid_entry(struct ibv_context *ibv, uint32_t index, struct ibv_gid_entry *out,
			   size_t size)
{
	struct ibv_gid_entry entry = { .gid = vb_gid(vb_context_of(ibv), (int)index),
				       .gid_index = index,
				       .port_num = VB_PORT,
				       .gid_type = vb_setting_ethernet() ? IBV_GID_TYPE_ROCE_V2
									 : IBV_GID_TYPE_IB };

	memset(out, 0, size);
	memcpy(out, &entry, size < sizeof(entry) ? size : sizeof(entry));
}

int _ibv_query_gid_ex(struct ibv_context *ibv, uint32_t port, uint32_t index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	int err = 0;

	/* ENODATA is for an entry of the table that is empty, and none here is. */
	if (flags)
		err = -EOPNOTSUPP;
	else if (vb_is_closed(ibv) || !has_gid(port, index))
		err = -EINVAL;
	else
		fill_gid_entry(ibv, index, entry, size);
	return -vb_asked(ibv, "ibv_query_gid_ex", err);
}

ssize_t _ibv_query_gid_table(struct ibv_context *ibv, struct ibv_gid_entry *entries, size_t max,
			     uint32_t flags, size_t size)
{
	int err = 0;

	if (flags)
		err = -EOPNOTSUPP;
	else if (vb_is_closed(ibv) || max < VB_GIDS || size == 0)
		err = -EINVAL;
	vb_asked(ibv, "ibv_query_gid_table", err);
	if (err)
		return err;
	for (size_t i = 0; i < VB_GIDS; i++)
		fill_gid_entry(ibv, (uint32_t)i,
			       (struct ibv_gid_entry *)(void *)((char *)entries + i * size), size);
	return VB_GIDS;
}

VB_NEW(ibv_query_pkey);
int ibv_query_pkey(struct ibv_context *ibv, uint8_t port, int index, __be16 *pkey)
{
	if (vb_is_closed(ibv) || port != VB_PORT || index != 0)
		return answer_entry(ibv, "ibv_query_pkey", false);
	*pkey = htobe16(VB_PKEY);
	return answer_entry(ibv, "ibv_query_pkey", true);
}

int ibv_get_pkey_index(struct ibv_context *ibv, uint8_t port, __be16 pkey)
{
	return answer_entry(ibv, "ibv_get_pkey_index",
			    !vb_is_closed(ibv) && port == VB_PORT && pkey == htobe16(VB_PKEY));
}

/* ---- sysfs ---- */

/* Declared in a header for drivers only. */
const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

const char *ibv_get_sysfs_path(void)
{
	return "/sys";
}

/* The text and its end do not fit. */
static int too_small(void)
{
	errno = EIO;
	return -1;
}

static int read_file(const char *path, char *buf, size_t size)
{
	int fd = process_open(path, O_RDONLY, 0), cancel;
	ssize_t n;

	if (fd < 0)
		return -1;
	cancel = process_cancel_hold();
	n = read(fd, buf, size);
	close(fd);
	process_cancel_release(cancel);
	if (n > 0 && buf[n - 1] == '\n')
		buf[--n] = '\0';
	else if (n >= 0 && (size_t)n < size)
		buf[n] = '\0';
	else if (n >= 0)
		return too_small();
	return (int)n;
}

/* The devices have no folder in sysfs: what programs read there is answered here. */
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	const struct {
		const char *file, *text;
	} files[] = {
		{ "board_id", "libdat" },
		{ "hca_type", "emulated" },
		{ "node_type", vb_setting_iwarp() ? "4: RNIC" : "1: CA" },
	};
	char path[512];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", vb_setting_name());
	if (strncmp(dir, path, strlen(path)) == 0) {
		for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
			if (strcmp(file, files[i].file) == 0)
				return strlen(files[i].text) < size
					       ? snprintf(buf, size, "%s", files[i].text)
					       : too_small();
		return no_entry();
	}
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return read_file(path, buf, size);
}

/* ---- the table ---- */

void vb_context_fill_ops(struct ibv_context *ibv, struct verbs_context *ex)
{
	ibv->ops = (struct ibv_context_ops){
		._compat_query_device = ibv_query_device,
		._compat_query_port = ibv_query_port,
		.alloc_mw = vb_alloc_mw,
		.bind_mw = vb_bind_mw,
		.dealloc_mw = vb_dealloc_mw,
		.poll_cq = vb_cq_poll,
		.req_notify_cq = vb_cq_request_notify,
		.post_srq_recv = vb_post_srq_recv,
		.post_send = vb_post_send,
		.post_recv = vb_post_recv,
	};
	ex->query_port = query_port;
	ex->query_device_ex = query_device_ex;
	ex->create_qp_ex = vb_create_qp_ex;
	ex->create_cq_ex = vb_create_cq_ex;
	ex->create_srq_ex = vb_setting_iwarp() ? NULL : vb_create_srq_ex; /* as siw and irdma */
	ex->query_rt_values = query_rt_values;
}
