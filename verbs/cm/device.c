/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.c - the devices that ids are on, and the lock.
 *
 * A device is opened when the first id needs it. Once the program knows it, as that of an id or
 * from the list of devices, it stays open, for a program may take its context from an id and
 * destroy the id; it has a protection domain while it has users. One that was removed, or was
 * opened in passing, is closed with its last user, unless the program still has objects there.
 */
#include <stdlib.h>

#include "cm.h"

static struct backend *backend;
static struct cm_device devices[CM_DEVICES];

int cm_begin(void)
{
	struct backend *b;
	int err = vb_cm_begin(&cm_ops, &b);

	if (!err && cm_backend() != b)
		__atomic_store_n(&backend, b, __ATOMIC_RELAXED); /* another thread may read it */
	return err;
}

struct backend *cm_backend(void)
{
	return __atomic_load_n(&backend, __ATOMIC_RELAXED);
}

void cm_enter(void)
{
	vb_cm_enter(cm_backend());
}

void cm_leave(void)
{
	vb_cm_leave(cm_backend());
}

int cm_leave_with(int err)
{
	cm_leave();
	return cm_result(err);
}

/* ---- open and close ---- */

static struct ibv_context *open_device(unsigned int i)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *verbs = NULL;
	unsigned int n = 0;

	while (list && list[n])
		n++;
	if (i < n)
		verbs = vb_device_open(list[i]);
	else
		errno = list ? ENODEV : ENOMEM;
	if (list)
		ibv_free_device_list(list);
	return verbs;
}

/* Programs expect an id that has a device to have a protection domain, too. */
static int make_pd(struct cm_device *device)
{
	struct ibv_pd *pd, *spare;

	cm_enter();
	pd = device->pd;
	cm_leave();
	if (pd)
		return 0;
	pd = spare = ibv_alloc_pd(device->verbs);
	if (!pd)
		return -errno;
	cm_enter();
	if (!device->pd) {
		device->pd = pd;
		spare = NULL;
	}
	cm_leave();
	if (spare)
		ibv_dealloc_pd(spare);
	return 0;
}

int cm_device_get(unsigned int i, struct cm_device **device)
{
	struct ibv_context *verbs = open_device(i), *spare = NULL;
	int err;

	if (!verbs)
		return -errno;
	cm_enter();
	*device = &devices[i];
	if (devices[i].verbs)
		spare = verbs;
	else
		devices[i].verbs = verbs;
	devices[i].users++;
	vb_event_helper(cm_backend());
	cm_leave();
	if (spare)
		vb_device_close(spare);
	err = make_pd(&devices[i]);
	if (err)
		cm_device_put(&devices[i]);
	return err;
}

/* The lock is held. */
static bool is_idle(const struct cm_device *device)
{
	return device->verbs && device->users == 0;
}

static bool may_close(const struct cm_device *device)
{
	return is_idle(device) && !device->kept && (device->removed || !device->known) &&
	       TAILQ_EMPTY(&vb_context_of(device->verbs)->objects);
}

/* Give back what a device without users has; without the lock. */
static void close_idle(struct cm_device *device)
{
	struct ibv_context *verbs = NULL;
	struct ibv_pd *pd;
	bool left;

	cm_enter();
	pd = is_idle(device) ? device->pd : NULL;
	device->pd = pd ? NULL : device->pd;
	cm_leave();
	/* The program may have left memory registered there. */
	left = pd && ibv_dealloc_pd(pd) != 0;
	cm_enter();
	if (left && !device->pd)
		device->pd = pd;
	if (may_close(device)) {
		verbs = device->verbs;
		*device = (struct cm_device){ .pd = device->pd };
	}
	cm_leave();
	if (verbs)
		vb_device_close(verbs);
}

void cm_device_put(struct cm_device *device)
{
	cm_enter();
	if (device)
		device->users--;
	cm_leave();
	for (int i = 0; i < CM_DEVICES; i++)
		close_idle(&devices[i]);
}

/*
 * A program that ends in order leaves no device open. What is in use is left alone, without the
 * lock, which the thread may hold: exit is called in handlers of signals, too.
 */
static void close_at_exit(void)
{
	for (int i = 0; i < CM_DEVICES; i++) {
		devices[i].known = false;
		if (may_close(&devices[i]))
			close_idle(&devices[i]);
	}
}

/* The lock is held. A destructor of this library would come when the process has left the turns. */
void cm_device_know(struct cm_device *device)
{
	static bool registered;

	device->known = true;
	if (!registered)
		registered = atexit(close_at_exit) == 0;
}

const struct nic_attr *cm_device_attr(const struct cm_device *device)
{
	return &vb_context_of(device->verbs)->adapter->base.attr;
}

struct cm_device *cm_device_of(const struct ibv_context *verbs)
{
	for (int i = 0; i < CM_DEVICES; i++)
		if (devices[i].verbs == verbs)
			return &devices[i];
	return NULL;
}

void cm_device_forget(void)
{
	for (int i = 0; i < CM_DEVICES; i++)
		devices[i] = (struct cm_device){ .verbs = NULL };
}

/* ---- the list ---- */

struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct ibv_context **list;
	struct cm_device *device;
	int n = 0, err = cm_begin();

	if (num_devices)
		*num_devices = 0;
	if (err) {
		errno = -err;
		return NULL;
	}
	list = calloc(CM_DEVICES + 1, sizeof(struct ibv_context *));
	if (!list)
		return NULL;
	for (unsigned int i = 0; i < CM_DEVICES; i++) {
		if (cm_device_get(i, &device))
			continue;
		cm_enter();
		device->kept = true;
		device->users--;
		cm_leave();
		list[n++] = device->verbs;
	}
	cm_device_put(NULL); /* none has a protection domain for that */
	if (num_devices)
		*num_devices = n;
	return list;
}

void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
