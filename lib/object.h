/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * object.h - the base struct of all eleven types of DAT object.
 *
 * Every object embeds struct obj first, belongs to one open IA (struct ia, itself an object) and
 * has one handle. A call begins with obj_enter, which takes the backend's lock and looks up the
 * handle, and ends with backend_leave.
 */
#ifndef LIB_OBJECT_H
#define LIB_OBJECT_H

#include <sys/queue.h>

#include "front.h"
#include "handle.h"
#include "host/nic.h"

struct evd;

/* Code off the path of a message: kept out of line, so that it costs that path no registers. */
#define COLD __attribute__((cold, noinline))
/* Code on the path of a message: always inlined. */
#define HOT inline __attribute__((always_inline))

#define OBJ_TYPES 11 /* DAT_HANDLE_TYPE_CR .. DAT_HANDLE_TYPE_SRQ */

struct obj {
	struct nic *nic; /* first, as in struct host_obj; ia->adapter->base.nic, in one load */
	struct ia *ia;
	DAT_CONTEXT context; /* the Consumer's */
	TAILQ_ENTRY(obj) in_ia;
	/* What a message reads is last, beside what it reads of an EP or EVD (ep.h, evd.h). */
	DAT_HANDLE handle;
	uint32_t id;   /* emu0.ep<id>: counts per adapter and type from 1, never reused */
	uint8_t type;  /* DAT_HANDLE_TYPE */
	uint8_t quick; /* enum obj_quick */
};

/*
 * The calls of every message that may take their fast path on this object: its type and state allow
 * it, and nothing requires the general path. Each change of those conditions updates the bits, so
 * that the call tests one bit.
 */
enum obj_quick {
	OBJ_QUICK_SEND = 1u << 0, /* ep_update_quick */
	OBJ_QUICK_RECV = 1u << 1,
	OBJ_QUICK_DEQUEUE = 1u << 2, /* evd_update_quick */
};

TAILQ_HEAD(obj_list, obj);

/* Ruling G1: every error return is built by these. */
#define DAT_FAIL(type, subtype) \
	((DAT_RETURN)((uint32_t)DAT_CLASS_ERROR | (uint32_t)(type) | (uint32_t)(subtype)))
#define BAD_ARG(n) DAT_FAIL(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
/* The same for a number that is known at run time only. */
#define BAD_ARG_NUMBER(n) DAT_FAIL(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1 - 1 + (uint32_t)(n))

/* The error for a refusal of the NIC; DAT_INTERNAL_ERROR if the adapter has failed. */
DAT_RETURN nic_refusal(int err, DAT_RETURN otherwise);

/*
 * Issue a handle and add the object to its IA. On DAT_INSUFFICIENT_RESOURCES nothing has changed.
 */
DAT_RETURN obj_init(struct obj *obj, struct ia *ia, DAT_HANDLE_TYPE type);
/* Invalidate the handle, before obj_fini. */
void obj_hide(struct obj *obj);
/* Invalidate the handle and remove the object from its IA. The caller frees the memory. */
void obj_fini(struct obj *obj);
/* "emu1.srq1"; returns what snprintf would. */
int obj_name(const struct obj *obj, char *name, size_t size);
/* "srq": the word for a type. */
const char *obj_type_word(DAT_HANDLE_TYPE type);

/*
 * An asynchronous event of an object (SRQ, EP, EVD, IA). Ruling W2: if the async EVD is full, the
 * event waits here until there is room; a new setting or the end of the object drops it.
 */
struct async_note {
	TAILQ_ENTRY(async_note) link;
	struct evd *waits_for; /* NULL: not waiting */
	DAT_EVENT event;
};

/*
 * An open IA: the owner of all objects made through it.
 *
 * The async EVD is made by the open (owned by the IA) or given by the caller (referenced). It is
 * NULL if the IA was opened with DAT_EVD_ASYNC_EXISTS, so that another IA's async EVD gets its
 * events.
 */
struct ia {
	struct obj obj;
	TAILQ_ENTRY(ia) link;
	struct dat_adapter *adapter;
	struct obj_list objects; /* all objects of this IA except itself */
	struct evd *async;       /* gets its asynchronous events; NULL: the adapter's does */
	struct evd *own_async;   /* made by the open, destroyed by the close */
	struct async_note catastrophe;
	bool closing; /* abruptly: asynchronous events of its objects end with them */
};

static inline struct backend *obj_backend(const struct obj *obj)
{
	return obj->ia->adapter->base.backend;
}

/* The same as ia->adapter, through a cache line that a post has loaded already. */
static inline struct dat_adapter *obj_adapter(const struct obj *obj)
{
	return obj->nic->ctx;
}

static inline struct nic *obj_nic(const struct obj *obj)
{
	return obj->nic;
}

/*
 * Look up the first handle of a call that came through our provider table, so it is the address of
 * one of our handle slots (api.c checked that). On success the lock of its backend is held and
 * *backend set; on failure no lock is held.
 */
static inline struct obj *obj_enter(DAT_HANDLE handle, DAT_HANDLE_TYPE type,
				    struct backend **backend)
{
	struct handle_slot *slot = handle;
	/*
	 * Read once: the page of a retired slot may be returned to the kernel meanwhile, and then
	 * reads as zero.
	 */
	DAT_PROVIDER *provider = __atomic_load_n(&slot->provider, __ATOMIC_RELAXED);
	struct obj *obj;

	if (__builtin_expect(!provider, 0))
		return NULL;
	*backend = backend_of_provider(provider);
	backend_enter(*backend);
	obj = slot->object;
	if (__builtin_expect(obj && obj->type == type, 1))
		return obj;
	backend_leave(*backend);
	return NULL;
}

/*
 * The object, if no lock is needed: the process has a single thread, and the fast path of `call` is
 * allowed on the object. NULL: take the general path. Callers do not pass through backend_leave;
 * path_choose (host/path.h) decides when that is allowed.
 */
static inline struct obj *obj_peek(DAT_HANDLE handle, enum obj_quick call)
{
	const struct handle_slot *slot = handle;
	struct obj *obj = __atomic_load_n(&slot->object, __ATOMIC_RELAXED);

	return __libc_single_threaded && obj && (obj->quick & call) ? obj : NULL;
}

/*
 * The object, in a shared fabric, under its biased lock, or under the backend's lock if that is
 * sufficient (host/quick.c); obj_unpeek releases it. NULL: take the general path, no lock is held.
 */
static inline struct obj *obj_peek_biased(DAT_HANDLE handle, DAT_HANDLE_TYPE type,
					  struct backend **backend)
{
	const struct handle_slot *slot = handle;
	DAT_PROVIDER *provider = __atomic_load_n(&slot->provider, __ATOMIC_RELAXED);
	struct obj *obj;

	if (__builtin_expect(!provider, 0))
		return NULL;
	*backend = backend_of_provider(provider);
	if (!backend_enter_biased(*backend))
		return NULL;
	obj = slot->object;
	if (__builtin_expect(obj && obj->type == type, 1))
		return obj;
	backend_leave_biased(*backend);
	return NULL;
}

static inline void obj_unpeek(struct backend *backend)
{
	bool due = !TAILQ_EMPTY(&backend->calls_due);

	backend_leave_biased(backend);
	if (__builtin_expect(due, 0)) {
		backend_enter(backend);
		backend_leave(backend);
	}
}

/*
 * Look up a further handle argument of a call that holds the lock; NULL: another type, or foreign.
 */
static inline struct obj *obj_find(struct backend *backend, DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	struct handle_slot *slot = handle_slot(handle);
	struct obj *obj;

	if (!slot || !slot->provider || backend_of_provider(slot->provider) != backend)
		return NULL;
	obj = slot->object;
	return obj && obj->type == type ? obj : NULL;
}

/* Ruling G8: a lookup that accepts every handle type. */
struct obj *obj_enter_any(DAT_HANDLE handle, struct backend **backend);

/* The object of a struct that embeds it first, or NULL. */
#define obj_as(type, ptr) ((type *)(ptr))

/* ---- trace ---- */

/* Append the line "<object> <verb> ..." to the trace; call only while tracing. */
void obj_trace_line(const struct obj *obj, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Trace a failed call on obj; returns ret. */
COLD DAT_RETURN obj_refuse(const struct obj *obj, const char *call, DAT_RETURN ret);

#define obj_trace(what, ...)                                             \
	do {                                                             \
		if (__builtin_expect(obj_nic(&(what)->obj)->tracing, 0)) \
			obj_trace_line(&(what)->obj, __VA_ARGS__);       \
	} while (0)

/* The end of every call on an object: trace a failure, release the lock. */
static inline DAT_RETURN obj_leave(struct backend *backend, const struct obj *obj, const char *call,
				   DAT_RETURN ret)
{
	if (__builtin_expect(ret != DAT_SUCCESS, 0))
		obj_refuse(obj, call, ret);
	backend_leave(backend);
	return ret;
}

/* Trace a call that has changed nothing on obj, with what it returned; call only while tracing. */
COLD void obj_trace_return(const struct obj *obj, const char *call, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define obj_returns(obj, call, ...)                               \
	do {                                                      \
		if (__builtin_expect(obj_nic(obj)->tracing, 0))   \
			obj_trace_return(obj, call, __VA_ARGS__); \
	} while (0)

/* The end of a call that only asks: trace the failure, or that it was there; release the lock. */
static inline DAT_RETURN obj_leave_asked(struct backend *backend, const struct obj *obj,
					 const char *call, DAT_RETURN ret)
{
	if (ret == DAT_SUCCESS)
		obj_returns(obj, call, NULL);
	return obj_leave(backend, obj, call, ret);
}

#endif /* LIB_OBJECT_H */
