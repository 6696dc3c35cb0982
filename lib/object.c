/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * object.c - the life of an object: its handle, its place in the IA, its name, and its lines in the
 * trace.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/fault_door.h"
#include "object.h"

/*
 * The types whose creation and end are traced here; the files of the other types do it themselves.
 */
#define TRACED_HERE                                                                        \
	(1u << DAT_HANDLE_TYPE_IA | 1u << DAT_HANDLE_TYPE_PZ | 1u << DAT_HANDLE_TYPE_LMR | \
	 1u << DAT_HANDLE_TYPE_RMR | 1u << DAT_HANDLE_TYPE_CR)

static void obj_trace_life(const struct obj *obj, const char *verb)
{
	if (obj->nic->tracing && (TRACED_HERE & 1u << obj->type))
		obj_trace_line(obj, "%s", verb);
}

DAT_RETURN nic_refusal(int err, DAT_RETURN otherwise)
{
	return err == -EIO ? DAT_FAIL(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE) : otherwise;
}

DAT_RETURN obj_init(struct obj *obj, struct ia *ia, DAT_HANDLE_TYPE type)
{
	struct dat_adapter *adapter = ia->adapter;

	obj->ia = ia;
	obj->nic = adapter->base.nic;
	obj->type = (uint8_t)type;
	obj->context.as_64 = 0;
	obj->handle = DAT_HANDLE_NULL;
	if (nic_has_memory(obj->nic, "handle"))
		obj->handle = handle_issue(&adapter_front(adapter)->provider, obj);
	if (obj->handle == DAT_HANDLE_NULL)
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	obj->id = ++adapter->last_id[type];
	adapter_front(adapter)->live[type]++;
	if (type != DAT_HANDLE_TYPE_IA)
		TAILQ_INSERT_TAIL(&ia->objects, obj, in_ia);
	obj_trace_life(obj, "create");
	return DAT_SUCCESS;
}

/* The backend's own table: its functions check the object, those of a fast path need not. */
void obj_hide(struct obj *obj)
{
	struct handle_slot *slot = obj->handle;

	__atomic_store_n(&slot->provider, &adapter_front(obj->ia->adapter)->provider,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&slot->object, NULL, __ATOMIC_RELEASE);
}

void obj_fini(struct obj *obj)
{
	obj_trace_life(obj, "free");
	obj_hide(obj);
	handle_retire(obj->handle);
	adapter_front(obj->ia->adapter)->live[obj->type]--;
	if (obj->type != DAT_HANDLE_TYPE_IA)
		TAILQ_REMOVE(&obj->ia->objects, obj, in_ia);
}

const char *obj_type_word(DAT_HANDLE_TYPE type)
{
	static const char *const words[OBJ_TYPES] = {
		[DAT_HANDLE_TYPE_CR] = "cr",   [DAT_HANDLE_TYPE_EP] = "ep",
		[DAT_HANDLE_TYPE_EVD] = "evd", [DAT_HANDLE_TYPE_IA] = "ia",
		[DAT_HANDLE_TYPE_LMR] = "lmr", [DAT_HANDLE_TYPE_PSP] = "psp",
		[DAT_HANDLE_TYPE_PZ] = "pz",   [DAT_HANDLE_TYPE_RMR] = "rmr",
		[DAT_HANDLE_TYPE_RSP] = "rsp", [DAT_HANDLE_TYPE_CNO] = "cno",
		[DAT_HANDLE_TYPE_SRQ] = "srq",
	};

	return words[type];
}

int obj_name(const struct obj *obj, char *name, size_t size)
{
	return snprintf(name, size, "%s.%s%u", obj->nic->label,
			obj_type_word((DAT_HANDLE_TYPE)obj->type), obj->id);
}

struct obj *obj_enter_any(DAT_HANDLE handle, struct backend **backend)
{
	struct handle_slot *slot = handle_slot(handle);
	DAT_PROVIDER *provider = slot ? handle_slot_provider(slot) : NULL;
	struct obj *obj;

	if (!provider)
		return NULL;
	*backend = backend_of_provider(provider);
	backend_enter(*backend);
	obj = slot->object;
	if (obj && obj->type < OBJ_TYPES)
		return obj;
	backend_leave(*backend);
	return NULL;
}

void obj_trace_line(const struct obj *obj, const char *format, ...)
{
	char name[DAT_NAME_MAX_LENGTH + 32], text[512];
	va_list args;

	obj_name(obj, name, sizeof(name));
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	nic_trace(obj_nic(obj), "%s %s", name, text);
}

void obj_trace_return(const struct obj *obj, const char *call, const char *format, ...)
{
	char values[128] = "";
	va_list args;

	if (obj_backend(obj)->silent)
		return;
	if (format) {
		va_start(args, format);
		vsnprintf(values, sizeof(values), format, args);
		va_end(args);
	}
	obj_trace_line(obj, "return call=%s%s%s", call, *values ? " " : "", values);
}

DAT_RETURN obj_refuse(const struct obj *obj, const char *call, DAT_RETURN ret)
{
	const char *type = "?", *subtype = "?";

	/* Empty queues are too common to trace. */
	if (!obj_nic(obj)->tracing || DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
		return ret;
	dat_strerror(ret, &type, &subtype);
	obj_trace_line(obj, "refuse call=%s type=%.*s subtype=%.*s", call, (int)strcspn(type, ":"),
		       type, (int)strcspn(subtype, ":"), subtype);
	return ret;
}
