/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings DAT_HW_*. A bad value is an error; it does not mean the default. One that this
 * device or this kernel cannot do is an error when the adapter is opened.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hw.h"
#include "host/nic_process.h"

#define RNR_RETRY_DEFAULT 7 /* indefinitely */
#define SERVICE_TYPE_MOST 255
#define ACK_TIMEOUT_MOST  31
#define VECTOR_MOST       65535

/* A whole number of decimal digits, at most `most`; -1: it is none. */
static int whole_number(const char *text, int most)
{
	int value = 0;

	if (!text[0] || strlen(text) > 5)
		return -1;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -1;
		value = value * 10 + (*text - '0');
	}
	return value <= most ? value : -1;
}

static int read_number(const char *name, int most, const char *meaning, int *value)
{
	const char *text = process_env(name);
	int is;

	if (!text)
		return 0;
	is = whole_number(text, most);
	if (is < 0) {
		hw_host->say("%s=%.64s: expected a whole number from 0 to %d (%s)", name, text,
			     most, meaning);
		return -EINVAL;
	}
	*value = is;
	return 0;
}

/* Does a port that goes down break connections, or do their retries decide? */
static int read_port_down(bool *breaks)
{
	const char *text = process_env("DAT_HW_PORT_DOWN");

	*breaks = text && strcmp(text, "break") == 0;
	if (!text || *breaks || strcmp(text, "retry") == 0)
		return 0;
	hw_host->say("DAT_HW_PORT_DOWN=%.64s: expected retry (a connection breaks if its "
		     "retransmissions fail) or break (at once)",
		     text);
	return -EINVAL;
}

int hw_knobs_read(struct hw_knobs *knobs)
{
	int rnr_retry = RNR_RETRY_DEFAULT, err;

	*knobs = (struct hw_knobs){ .comp_vector = HW_KNOB_UNSET,
				    .service_type = HW_KNOB_UNSET,
				    .ack_timeout = HW_KNOB_UNSET };
	err = read_number("DAT_HW_RNR_RETRY", 7, "7: retry indefinitely", &rnr_retry);
	if (!err)
		err = read_port_down(&knobs->break_on_port_down);
	if (!err)
		err = read_number("DAT_HW_COMP_VECTOR", VECTOR_MOST,
				  "the completion vector of all EVDs; unset: they take turns",
				  &knobs->comp_vector);
	if (!err)
		err = read_number("DAT_HW_TOS", SERVICE_TYPE_MOST,
				  "the type of service of connections, its DSCP times 4",
				  &knobs->service_type);
	if (!err)
		err = read_number("DAT_HW_ACK_TIMEOUT", ACK_TIMEOUT_MOST,
				  "n: a packet is sent again after 4.096 us times 2^n; 0: never",
				  &knobs->ack_timeout);
	knobs->rnr_retry = (uint8_t)rnr_retry;
	return err;
}

static int option_set(struct rdma_cm_id *id, int option, int value)
{
	uint8_t byte = (uint8_t)value;

	if (value == HW_KNOB_UNSET)
		return 0;
	return rdma_set_option(id, RDMA_OPTION_ID, option, &byte, sizeof(byte)) ? -errno : 0;
}

int hw_knobs_apply(const struct hw_knobs *knobs, struct rdma_cm_id *id)
{
	int err = option_set(id, RDMA_OPTION_ID_TOS, knobs->service_type);

	return err ? err : option_set(id, RDMA_OPTION_ID_ACK_TIMEOUT, knobs->ack_timeout);
}

static int option_refused(const struct hw_nic *n, const char *name, int err)
{
	hw_host->say("%s: adapter %s refuses it: %s; this kernel or device cannot set it: unset %s",
		     name, n->place.device, strerror(-err), name);
	return -EINVAL;
}

/* The adapter's own id shows whether the kernel has the options. */
int hw_knobs_fit(const struct hw_nic *n)
{
	const struct hw_knobs *knobs = &n->world->knobs;
	int err;

	if (knobs->comp_vector >= n->verbs->num_comp_vectors) {
		hw_host->say(
			"DAT_HW_COMP_VECTOR=%d: adapter %s has %d completion vectors: expected "
			"a number from 0 to %d",
			knobs->comp_vector, n->place.device, n->verbs->num_comp_vectors,
			n->verbs->num_comp_vectors - 1);
		return -EINVAL;
	}
	err = option_set(n->cm.id, RDMA_OPTION_ID_TOS, knobs->service_type);
	if (err)
		return option_refused(n, "DAT_HW_TOS", err);
	err = option_set(n->cm.id, RDMA_OPTION_ID_ACK_TIMEOUT, knobs->ack_timeout);
	return err ? option_refused(n, "DAT_HW_ACK_TIMEOUT", err) : 0;
}
