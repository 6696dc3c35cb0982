/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adapters: opening and closing, capabilities, and limits - the lower of the device's and our own.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cm.h"
#include "host/nic_process.h"
#include "names.h"

/* Our limits for one process. A device may allow more than the machine has memory for. */
#define MAX_QP       16384
#define MAX_QP_WR    131072
#define MAX_CQ       16384
#define MAX_CQE      131072
#define MAX_SRQ      4096
#define MAX_SRQ_WR   131072
#define MAX_MR       262144
#define MAX_MW       65536
#define MAX_PD       4096
#define MAX_LISTENER 4096
#define MAX_SGE      32
#define FDS_KEPT     64 /* for the program, beside what is open already */

static int least_of(long a, long b)
{
	return (int)(a < b ? a : b);
}

/*
 * A request takes an entry here and one in the device's queue. Both are memory that is touched or
 * locked at once, so one queue may have a 64th of what the machine has.
 */
static long memory_qp_wr(int max_sge)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	long entry = (long)sizeof(struct hw_wqe) + 64 + max_sge * (long)sizeof(struct ibv_sge);

	return pages > 0 && size > 0 ? pages / 64 * size / entry : MAX_QP_WR;
}

static long files_open(void)
{
	DIR *dir = process_opendir("/proc/self/fd");
	long n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* Each CQ has a completion channel, which takes a file descriptor. */
static int files_left(void)
{
	struct rlimit limit;
	long left;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > INT_MAX)
		return INT_MAX;
	left = (long)limit.rlim_cur - files_open() - FDS_KEPT;
	return left > FDS_KEPT ? (int)left : FDS_KEPT;
}

/* Each PD with windows has a region of its own (mr.c). */
static int regions_left(int max_mr, const struct nic_attr *a)
{
	int own = a->max_mw > 0 ? a->max_pd : 0;

	return max_mr > 2 * own ? max_mr - own : max_mr - max_mr / 2;
}

static void fill_attr(struct hw_nic *n, const struct ibv_port_attr *port)
{
	const struct ibv_device_attr *d = &n->dev;
	struct nic_attr *a = &n->attr;

	*a = (struct nic_attr){
		.hw_major = d->hw_ver,
		.addr = n->place.addr,
		.max_qp = least_of(d->max_qp, MAX_QP),
		.max_qp_wr = least_of(d->max_qp_wr, MAX_QP_WR),
		.max_sge = least_of(d->max_sge, MAX_SGE),
		.max_sge_rd = least_of(d->max_sge_rd > 0 ? d->max_sge_rd : d->max_sge, MAX_SGE),
		.max_rd_atomic_in = least_of(d->max_qp_rd_atom, 128),
		.max_rd_atomic_out = least_of(d->max_qp_init_rd_atom, 128),
		.max_cq = least_of(least_of(d->max_cq, MAX_CQ), files_left()),
		.max_cqe = least_of(d->max_cqe, MAX_CQE),
		.max_srq = least_of(d->max_srq, MAX_SRQ),
		.max_srq_wr = least_of(d->max_srq_wr, MAX_SRQ_WR),
		.max_qp_per_srq = least_of(d->max_qp, MAX_QP),
		.max_mr = least_of(d->max_mr, MAX_MR),
		.max_mw = n->base.caps & NIC_CAP_MW ? least_of(d->max_mw, MAX_MW) : 0,
		.max_pd = least_of(d->max_pd, MAX_PD),
		.max_listener = MAX_LISTENER,
		.max_mr_size = d->max_mr_size,
		.max_msg_size = port->max_msg_sz,
		.max_private_data = n->iwarp ? HW_IWARP_PRIVATE : HW_IB_PRIVATE - 1,
	};
	/* DAT has one limit for segments: it has to hold for the Receives of an SRQ, too. */
	if (d->max_srq > 0)
		a->max_sge = least_of(a->max_sge, d->max_srq_sge);
	a->max_sge_rd = least_of(a->max_sge_rd, a->max_sge);
	a->max_qp_wr = least_of(a->max_qp_wr, memory_qp_wr(a->max_sge));
	a->max_mr = least_of(a->max_mr, regions_left(d->max_mr, a));
	snprintf(a->vendor, sizeof(a->vendor), "verbs, vendor 0x%06x part %u", d->vendor_id,
		 d->vendor_part_id);
	sscanf(d->fw_ver, "%u.%u", &a->fw_major, &a->fw_minor);
}

static uint64_t find_caps(const struct hw_nic *n)
{
	uint64_t caps = NIC_CAP_CQ_RESIZE | NIC_CAP_HANDOFF;

	if (n->dev.max_srq > 0)
		caps |= NIC_CAP_SRQ | NIC_CAP_SRQ_RESIZE | NIC_CAP_SRQ_LIMIT;
	if (n->dev.max_mw > 0 && (n->dev.device_cap_flags & IBV_DEVICE_MEM_WINDOW))
		caps |= NIC_CAP_MW;
	/* On iWARP the response of an RDMA Read is a remote write. */
	if (n->iwarp)
		caps |= NIC_CAP_READ_BY_WRITE;
	return caps;
}

/* Bind an id to the address: that yields librdmacm's device context, which all ids there share. */
static int bind_device(struct hw_nic *n)
{
	if (rdma_create_id(n->world->channel, &n->cm.id, &n->cm, RDMA_PS_TCP))
		return hw_errno();
	if (rdma_bind_addr(n->cm.id, (struct sockaddr *)&n->place.addr) || !n->cm.id->verbs) {
		hw_host->say("adapter %s: no device has its address any more; check its network "
			     "interface (ip addr)",
			     n->place.device);
		hw_cm_drop(&n->cm);
		return -EIO;
	}
	n->verbs = n->cm.id->verbs;
	return 0;
}

static int query_device(struct hw_nic *n)
{
	struct ibv_port_attr port;
	int err = ibv_query_device(n->verbs, &n->dev);

	if (!err)
		err = ibv_query_port(n->verbs, n->cm.id->port_num, &port);
	if (err) {
		hw_host->say("adapter %s: the device does not answer: %s (see dmesg)",
			     n->place.device, strerror(err));
		return -EIO;
	}
	if (port.state != IBV_PORT_ACTIVE) {
		hw_host->say("adapter %s: port %u is not active: the link is down (see ibv_devinfo "
			     "-d %s; ip "
			     "link set %s up)",
			     n->place.device, n->cm.id->port_num, n->place.device, n->place.netdev);
		return -ENETDOWN;
	}
	n->iwarp = n->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	n->base.caps = find_caps(n);
	fill_attr(n, &port);
	n->attr.max_qp_wr = hw_trial_qp_wr(n);
	return 0;
}

int hw_open(struct nic_world *w, const char *name, const struct nic_upcalls *up, void *ctx,
	    struct nic **nic)
{
	struct hw_nic *n = calloc(1, sizeof(*n));
	struct hw_places *places;
	int err;

	if (!n)
		return -ENOMEM;
	n->world = w;
	/* Each process begins at another one. */
	n->next_vector = (unsigned int)getpid();
	n->base = (struct nic){ .ops = &hw_ops, .up = up, .ctx = ctx };
	n->cm.kind = HW_CM_ADAPTER;
	err = hw_find_place(w, name, &n->place, &places);
	if (err)
		goto free_nic;
	err = bind_device(n);
	hw_places_free(places);
	if (err)
		goto free_nic;
	err = hw_knobs_fit(n);
	if (!err)
		err = query_device(n);
	if (!err)
		err = hw_async_start(n);
	if (err)
		goto drop_id;
	LIST_INSERT_HEAD(&w->nics, n, link);
	hw_cm_start(w);
	*nic = &n->base;
	return 0;

drop_id:
	hw_cm_drop(&n->cm);
free_nic:
	free(n);
	return err;
}

void hw_close(struct nic *nic)
{
	struct hw_nic *n = hw_nic(nic);

	if (n->sink)
		hw_cq_destroy(&n->sink->base);
	hw_unwatch(&n->async_watch);
	LIST_REMOVE(n, link);
	hw_cm_drop(&n->cm);
	free(n);
}

void hw_query(struct nic *nic, struct nic_attr *attr)
{
	*attr = hw_nic(nic)->attr;
}
