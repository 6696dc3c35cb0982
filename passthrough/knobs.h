/* SPDX-License-Identifier: BSD-3-Clause */
/* knobs.h - the settings DAT_HW_* of the environment. */
#ifndef PASSTHROUGH_KNOBS_H
#define PASSTHROUGH_KNOBS_H

#include <stdbool.h>
#include <stdint.h>

#include <rdma/rdma_cma.h>

struct hw_nic;

#define HW_KNOB_UNSET (-1)
struct hw_knobs {
	uint8_t rnr_retry;
	bool break_on_port_down;
	int comp_vector;  /* of all CQs; unset: they take turns */
	int service_type; /* unset: the kernel's default */
	int ack_timeout;  /* an exponent; unset: from the path's length */
};

/* -EINVAL: a value is bad, and the user has been told. */
int hw_knobs_read(struct hw_knobs *knobs);
/*
 * The options of an id of librdmacm, before it is used to connect, listen or accept: 0, or a
 * negative errno if the kernel or the device knows no such option.
 */
int hw_knobs_apply(const struct hw_knobs *knobs, struct rdma_cm_id *id);
/* As much as the adapter can tell at its opening: -EINVAL, and the user has been told. */
int hw_knobs_fit(const struct hw_nic *n);

#endif /* PASSTHROUGH_KNOBS_H */
