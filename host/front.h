/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * front.h - a front: an API on the door, as lib/ (uDAPL) is.
 *
 * The host owns the backend instance: its world, its lock, its adapters, its helper thread. A front
 * owns the meaning of its API. It opens adapters through the host and makes objects on them through
 * the door. The table below is all that the host calls of a front; several fronts may share one
 * backend instance.
 *
 * Two rules let the host handle a front's objects without knowing them:
 *
 *   - an adapter of a front embeds struct adapter (backend.h) as its first member, and is the `ctx`
 *     of its nic;
 *   - the `ctx` of every CQ, QP, SRQ or listener of a front begins with a struct host_obj.
 *
 * The lock of the backend instance is held around every call of the table, unless stated otherwise.
 */
#ifndef HOST_FRONT_H
#define HOST_FRONT_H

#include "nic.h"
#include "path.h"

#define HOST_FRONTS 2 /* of one backend instance: uDAPL, and one more */

struct adapter;
struct backend;
struct fault_text_rule;
struct front;

/* The beginning of every `ctx` of an object behind the door. */
struct host_obj {
	struct nic *nic;
};

struct front_ops {
	const char *name;
	uint32_t api; /* enum fault_text_api: whose names call_fault knows */
	/* Points to sizeof(struct nic_quick_qp), or to 0: this front has no PATH_HARDWARE. */
	const size_t *quick_size;
	/* The upcalls for adapters of this front; its services are BACKEND_SERVICES. */
	const struct nic_upcalls *up;
	/* This front's part of a backend instance, which lives as long as the process. */
	struct front *(*attach)(struct backend *b);
	/* Allocate an adapter, its struct adapter zeroed (NULL: out of memory); free one. */
	struct adapter *(*adapter_alloc)(void);
	void (*adapter_free)(struct adapter *adapter);
	/* Use this path for the calls of every message from now on. */
	void (*use_path)(struct front *front, enum path path);
	/*
	 * Call nic_ops.cq_limit again for each CQ of the adapter: the door's table was exchanged.
	 */
	void (*repeat_cq_limits)(struct adapter *adapter);
	/* nic_qp_init.name of the QP with this ctx; *noun: its noun in traces. */
	uint32_t (*qp_name)(const void *qp_ctx, const char **noun);
	/*
	 * What an alarm of the QP (nic_ops.qp_alarm) would mean now, below NIC_ALARMS; NIC_ALARMS:
	 * nothing. NULL: this front sets none.
	 */
	uint32_t (*alarm)(const void *qp_ctx);
	/*
	 * Translate a rule of calls or events from text to the door's terms; false: not of this
	 * API.
	 */
	bool (*call_fault)(const struct fault_text_rule *text, struct nic_fault_rule *rule);
	/* The world has ended: drop every reference to it. */
	void (*world_ended)(struct front *front);
	/* In a forked child, which has none of its parent's objects; no lock is held. */
	void (*forget)(struct front *front);
	/* The number of objects; the names of the first few are appended to `names`. */
	unsigned int (*objects_left)(struct front *front, char *names, size_t size);
};

/* A front's part of a backend instance embeds this. */
struct front {
	const struct front_ops *ops;
	struct backend *backend;
};

#endif /* HOST_FRONT_H */
