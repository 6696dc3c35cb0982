/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim_fabric.c - <dat/sim.h>: create, list and destroy fabrics that several processes share, by
 * name.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/knob.h"
#include "sim.h"

#define NO_FABRIC DAT_FAIL(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED)

/* Translate an errno of the backend. All arguments except the name are valid. */
static DAT_RETURN fabric_result(int err)
{
	switch (err) {
	case 0:
		return DAT_SUCCESS;
	case -EEXIST:
	case -EBUSY:
		return DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	case -ENOENT:
		return NO_FABRIC;
	case -ERANGE:
		return DAT_QUEUE_EMPTY;
	case -EACCES:
		return DAT_FAIL(DAT_PRIVILEGES_VIOLATION, DAT_NO_SUBTYPE);
	case -ENOMEM:
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	default:
		return BAD_ARG(1);
	}
}

/* The backend that DAT_PROVIDER selects, if its worlds can be shared. */
static DAT_RETURN fabric_backend(const struct nic_backend **kind)
{
	struct backend *b;
	DAT_RETURN ret = dat_backend_chosen(&b);

	if (ret != DAT_SUCCESS)
		return ret;
	if (!b->kind->shared)
		return DAT_FAIL(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	*kind = b->kind;
	return DAT_SUCCESS;
}

DAT_RETURN dat_sim_fabric_create(const char *name, const DAT_SIM_CONFIG *config)
{
	const struct nic_backend *kind;
	struct nic_config nic;
	DAT_RETURN ret;

	if (!name)
		return BAD_ARG(1);
	if (config ? !sim_config_read(config, &nic) : !knob_fabric_config(&nic, name))
		return BAD_ARG(2);
	nic.fabric = name;
	ret = fabric_backend(&kind);
	return ret == DAT_SUCCESS ? fabric_result(kind->fabric_make(&nic)) : ret;
}

DAT_RETURN dat_sim_fabric_destroy(const char *name)
{
	const struct nic_backend *kind;
	DAT_RETURN ret;

	if (!name)
		return BAD_ARG(1);
	ret = fabric_backend(&kind);
	return ret == DAT_SUCCESS ? fabric_result(kind->fabric_end(name)) : ret;
}

DAT_RETURN dat_sim_fabric_next(char *name, size_t size)
{
	const struct nic_backend *kind;
	DAT_RETURN ret;
	int err;

	if (!name || !memchr(name, '\0', size))
		return BAD_ARG(1);
	ret = fabric_backend(&kind);
	if (ret != DAT_SUCCESS)
		return ret;
	err = kind->fabric_next(name, size);
	return err == -ENOENT ? DAT_QUEUE_EMPTY : fabric_result(err);
}

DAT_RETURN dat_sim_fabric_member(const char *name, DAT_COUNT i, DAT_SIM_MEMBER *member)
{
	const struct nic_backend *kind;
	struct nic_member found;
	DAT_RETURN ret;

	if (!name)
		return BAD_ARG(1);
	if (i < 0)
		return BAD_ARG(2);
	if (!member)
		return BAD_ARG(3);
	ret = fabric_backend(&kind);
	if (ret == DAT_SUCCESS)
		ret = fabric_result(kind->fabric_member(name, (unsigned int)i, &found));
	if (ret != DAT_SUCCESS)
		return ret;
	*member = (DAT_SIM_MEMBER){
		.pid = (DAT_UINT32)found.pid,
		.adapters = (DAT_COUNT)found.adapters,
		.eps = (DAT_COUNT)found.qps,
		.listeners = (DAT_COUNT)found.listeners,
		.waiting = found.waiting ? DAT_TRUE : DAT_FALSE,
		.stuck = found.stuck ? DAT_TRUE : DAT_FALSE,
	};
	memcpy(member->node, found.node, sizeof(member->node));
	if (found.adapters)
		inet_ntop(AF_INET, &((struct sockaddr_in *)&found.addr)->sin_addr, member->address,
			  sizeof(member->address));
	return DAT_SUCCESS;
}

DAT_RETURN dat_sim_fabric_hold(const char *name, DAT_BOOLEAN hold)
{
	const struct nic_backend *kind;
	DAT_RETURN ret;

	if (!name)
		return BAD_ARG(1);
	if (hold != DAT_TRUE && hold != DAT_FALSE)
		return BAD_ARG(2);
	ret = fabric_backend(&kind);
	return ret == DAT_SUCCESS ? fabric_result(kind->fabric_hold(name, hold == DAT_TRUE)) : ret;
}

DAT_RETURN dat_sim_fabric_note(const char *name, const char *text)
{
	const struct nic_backend *kind;
	char line[SIM_NOTE];
	DAT_RETURN ret;

	if (!name)
		return BAD_ARG(1);
	if (!text)
		return BAD_ARG(2);
	sim_note_line(text, line);
	ret = fabric_backend(&kind);
	return ret == DAT_SUCCESS ? fabric_result(kind->fabric_note(name, line)) : ret;
}

DAT_RETURN dat_sim_fabric_trace(const char *name, void **reader, const char **text, size_t *length)
{
	const struct nic_backend *kind;
	DAT_RETURN ret;

	if (!reader)
		return BAD_ARG(2);
	if (name && !text)
		return BAD_ARG(3);
	if (name && !length)
		return BAD_ARG(4);
	ret = fabric_backend(&kind);
	return ret == DAT_SUCCESS ? fabric_result(kind->fabric_trace(name, reader, text, length))
				  : ret;
}
