/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_look.c - <dat/sim.h>: count and name objects, and read the trace. */
#include <stdio.h>

#include "host/path.h"
#include "lib/api.h"
#include "sim.h"

/* ---- objects ---- */

DAT_RETURN dat_sim_count_objects(DAT_HANDLE_TYPE type, DAT_COUNT *count)
{
	unsigned int n = 0;

	if (type != DAT_SIM_ALL_HANDLE_TYPES && (unsigned int)type >= OBJ_TYPES)
		return BAD_ARG(1);
	if (!count)
		return BAD_ARG(2);
	for (struct backend *b = backend_next(NULL); b; b = backend_next(b)) {
		backend_enter(b);
		const struct dat_front *front = dat_front_of(b);

		for (unsigned int i = 0; front && i < OBJ_TYPES; i++)
			if (type == DAT_SIM_ALL_HANDLE_TYPES || (unsigned int)type == i)
				n += front->live[i];
		backend_leave(b);
	}
	*count = (DAT_COUNT)n;
	return DAT_SUCCESS;
}

DAT_RETURN dat_sim_name(DAT_HANDLE handle, char *name, size_t size)
{
	struct backend *b;
	struct obj *obj = obj_enter_any(handle, &b);
	DAT_RETURN ret = DAT_SUCCESS;

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!name)
		ret = BAD_ARG(2);
	else if (size == 0)
		ret = BAD_ARG(3);
	else
		obj_name(obj, name, size);
	backend_leave(b);
	return ret;
}

/* ---- the trace ---- */

DAT_RETURN dat_sim_trace(DAT_SIM_HANDLE sim, DAT_BOOLEAN on)
{
	struct backend *b;
	struct nic *nic;
	DAT_RETURN ret = DAT_SUCCESS;

	nic = sim_enter(sim, &b);
	if (!nic)
		return BAD_SIM;
	if (on == DAT_TRUE || on == DAT_FALSE)
		nic->ops->sim_trace(nic, on == DAT_TRUE);
	else
		ret = BAD_ARG(2);
	path_changed(b);
	backend_leave(b);
	return ret;
}

DAT_RETURN dat_sim_trace_queries(DAT_SIM_HANDLE sim, DAT_BOOLEAN on)
{
	struct backend *b;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!sim_enter(sim, &b))
		return BAD_SIM;
	if (on == DAT_TRUE || on == DAT_FALSE)
		b->silent = on == DAT_FALSE;
	else
		ret = BAD_ARG(2);
	backend_leave(b);
	return ret;
}

DAT_RETURN dat_sim_trace_read(DAT_SIM_HANDLE sim, const char **text, size_t *length)
{
	struct backend *b;
	struct nic *nic;
	DAT_RETURN ret;

	nic = sim_enter(sim, &b);
	if (!nic)
		return BAD_SIM;
	if (!text)
		ret = BAD_ARG(2);
	else if (!length)
		ret = BAD_ARG(3);
	else
		ret = sim_result(nic->ops->sim_trace_read(nic, text, length), 2);
	backend_leave(b);
	return ret;
}

void sim_note_line(const char *text, char line[SIM_NOTE])
{
	snprintf(line, SIM_NOTE, "%s", text);
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
}

DAT_RETURN dat_sim_trace_note(DAT_SIM_HANDLE sim, const char *text)
{
	char line[SIM_NOTE];
	struct backend *b;
	struct nic *nic;
	DAT_RETURN ret = DAT_SUCCESS;

	nic = sim_enter(sim, &b);
	if (!nic)
		return BAD_SIM;
	if (text) {
		if (nic->tracing) {
			sim_note_line(text, line);
			nic_trace(nic, "- note %s", line);
		}
	} else {
		ret = BAD_ARG(2);
	}
	backend_leave(b);
	return ret;
}
