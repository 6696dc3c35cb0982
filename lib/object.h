/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * object.h - what all eleven kinds of DAT object have in common.
 *
 * Every object embeds struct obj first, belongs to one opening of an adapter (struct ia, itself an
 * object) and has one handle. Calls begin with obj_enter, which takes the backend's lock and turns the
 * handle into the object or answers DAT_INVALID_HANDLE, and end with backend_leave.
 */
#ifndef LIB_OBJECT_H
#define LIB_OBJECT_H

#include <sys/queue.h>

#include "backend.h"
#include "handle.h"
#include "nic.h"

struct evd;

/* Off the path of a message: keeps its registers out of the way of what is on it. */
#define COLD __attribute__((cold, noinline))
/* On it: no call of its own. */
#define HOT inline __attribute__((always_inline))

#define OBJ_TYPES 11 /* DAT_HANDLE_TYPE_CR .. DAT_HANDLE_TYPE_SRQ */

struct obj {
	DAT_HANDLE handle;
	struct ia *ia;
	struct nic *nic;     /* ia->adapter->nic: one load on the path of every message */
	DAT_CONTEXT context; /* the Consumer's */
	TAILQ_ENTRY(obj) in_ia;
	uint32_t id;   /* emu0.ep<id>: counts per adapter and type from 1, never reused */
	uint8_t type;  /* DAT_HANDLE_TYPE */
	uint8_t quick; /* enum obj_quick */
};

/*
 * A call of every message that may take its quick way on this object: it is of the right type, in the right state, and
 * nothing special concerns it. Kept up to date by what changes that, so that the call looks at one bit.
 */
enum obj_quick {
	OBJ_QUICK_SEND = 1u << 0, /* ep_update_quick */
	OBJ_QUICK_RECV = 1u << 1,
	OBJ_QUICK_DEQUEUE = 1u << 2, /* evd_update_quick */
};

TAILQ_HEAD(obj_list, obj);

/* Every error return is built here: ruling G1. */
#define DAT_FAIL(type, subtype) \
	((DAT_RETURN)((uint32_t)DAT_CLASS_ERROR | (uint32_t)(type) | (uint32_t)(subtype)))
#define BAD_ARG(n) DAT_FAIL(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)

/* The NIC refused: `usual`, unless its adapter has failed. */
DAT_RETURN nic_refusal(int err, DAT_RETURN usual);

/* Issue a handle and enter the object into its IA; DAT_INSUFFICIENT_RESOURCES leaves nothing behind. */
DAT_RETURN obj_init(struct obj *obj, struct ia *ia, DAT_HANDLE_TYPE type);
/* The handle names nothing any more; obj_fini follows. */
void obj_hide(struct obj *obj);
/* The handle dies, the IA forgets the object. The memory is the caller's to free. */
void obj_fini(struct obj *obj);
/* "emu1.srq1"; returns what snprintf would. */
int obj_name(const struct obj *obj, char *name, size_t size);
/* "srq": the word for a type. */
const char *obj_type_word(DAT_HANDLE_TYPE type);

/*
 * An asynchronous event of an object (SRQ, EP, EVD, IA). Ruling W2: one that finds the async EVD full
 * waits here and is queued as soon as there is room; a new setting or the object's end drops it.
 */
struct async_note {
	TAILQ_ENTRY(async_note) link;
	struct evd *waits_for; /* NULL: not waiting */
	DAT_EVENT event;
};

/*
 * One opening of an adapter: the owner of all objects made through it.
 *
 * The async EVD is made by the open (owned by the IA) or handed in (referenced); NULL while somebody
 * else handles asynchronous events (DAT_EVD_ASYNC_EXISTS).
 */
struct ia {
	struct obj obj;
	TAILQ_ENTRY(ia) link;
	struct adapter *adapter;
	struct obj_list objects; /* all of this opening but itself */
	struct evd *async;       /* where its events go; NULL: to the adapter's */
	struct evd *own_async;   /* made by the open, destroyed by the close */
	struct async_note catastrophe;
};

static inline struct backend *obj_backend(const struct obj *obj)
{
	return obj->ia->adapter->backend;
}

/* The same as ia->adapter, by the way that is warm when something is posted. */
static inline struct adapter *obj_adapter(const struct obj *obj)
{
	return obj->nic->ctx;
}

static inline struct nic *obj_nic(const struct obj *obj)
{
	return obj->nic;
}

/*
 * Resolve the first handle of a call that came through our provider table, so it names a slot of ours
 * (api.c saw to that). On success the lock of its backend is held and *backend set; on failure
 * nothing is held.
 */
static inline struct obj *obj_enter(DAT_HANDLE handle, DAT_HANDLE_TYPE type,
				    struct backend **backend)
{
	struct slot *slot = handle;
	/* Once: the page of a slot long spent may be given back meanwhile, and read as zero. */
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
 * The object, where no lock is needed to look at it, in a process of a single thread, and the call is a quick
 * one on it. NULL: the caller goes the general way. Who calls this does not pass backend_leave, so agents_expect
 * (agent.c) has to know of it.
 */
static inline struct obj *obj_peek(DAT_HANDLE handle, enum obj_quick call)
{
	const struct slot *slot = handle;
	struct obj *obj = __atomic_load_n(&slot->object, __ATOMIC_RELAXED);

	return __libc_single_threaded && obj && (obj->quick & call) ? obj : NULL;
}

static inline void obj_unbias(struct backend *backend)
{
	if (__builtin_expect(backend->quick_locked, 0))
		backend_leave_quick(backend);
	else
		bias_leave();
}

/*
 * The object of that type, quick or not, in a shared world: with its biased lock, or the backend's own, which does as well
 * (quick.c); obj_unpeek ends that. NULL: go the general way, nothing is held.
 */
static inline struct obj *obj_peek_biased(DAT_HANDLE handle, DAT_HANDLE_TYPE type,
					  struct backend **backend)
{
	const struct slot *slot = handle;
	DAT_PROVIDER *provider = __atomic_load_n(&slot->provider, __ATOMIC_RELAXED);
	struct obj *obj;

	if (__builtin_expect(!provider, 0))
		return NULL;
	*backend = backend_of_provider(provider);
	if (!bias_enter_own(&(*backend)->bias) && !backend_enter_quick(*backend))
		return NULL;
	obj = slot->object;
	if (__builtin_expect(obj && obj->type == type, 1))
		return obj;
	obj_unbias(*backend);
	return NULL;
}

static inline void obj_unpeek(struct backend *backend)
{
	bool due = !TAILQ_EMPTY(&backend->calls_due);

	obj_unbias(backend);
	if (__builtin_expect(due, 0)) {
		backend_enter(backend);
		backend_leave(backend);
	}
}

/* Resolve a further handle argument of a call that holds the lock; NULL: not that type, or foreign. */
static inline struct obj *obj_find(struct backend *backend, DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	struct slot *slot = handle_slot(handle);
	struct obj *obj;

	if (!slot || !slot->provider || backend_of_provider(slot->provider) != backend)
		return NULL;
	obj = slot->object;
	return obj && obj->type == type ? obj : NULL;
}

/* All handle types are valid here: context and type calls, ruling G8. */
struct obj *obj_enter_any(DAT_HANDLE handle, struct backend **backend);

/* The object of a struct that embeds it first, or NULL. */
#define obj_as(type, ptr) ((type *)(ptr))

/* ---- trace ---- */

/* A line into the trace; the door takes a va_list, this makes one. */
void nic_trace(struct nic *nic, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "<object> <verb> ..." into the trace; call only when traced. */
void obj_trace_line(const struct obj *obj, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A call on obj failed: leave a line, hand the return through. */
COLD DAT_RETURN obj_refuse(const struct obj *obj, const char *call, DAT_RETURN ret);

#define obj_trace(what, ...)                                             \
	do {                                                             \
		if (__builtin_expect(obj_nic(&(what)->obj)->tracing, 0)) \
			obj_trace_line(&(what)->obj, __VA_ARGS__);       \
	} while (0)

/* The end of every call on an object that may fail: trace a refusal, release the lock. */
static inline DAT_RETURN obj_leave(struct backend *backend, const struct obj *obj, const char *call,
				   DAT_RETURN ret)
{
	if (__builtin_expect(ret != DAT_SUCCESS, 0))
		obj_refuse(obj, call, ret);
	backend_leave(backend);
	return ret;
}

#endif /* LIB_OBJECT_H */
