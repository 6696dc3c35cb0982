/* SPDX-License-Identifier: BSD-3-Clause */
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bias.h"

__thread char bias_self;

void bias_start(struct bias *bias)
{
	if (!bias->possible && !bias->ended)
		bias->possible = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
					 0, 0) == 0;
}

/* With the lock: the owner is outside its quick calls until `wanted` falls. */
static void shut_out_owner(struct bias *bias)
{
	__atomic_store_n(&bias->wanted, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	while (__atomic_load_n(&bias->inside, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &bias->inside, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
}

void bias_wake(struct bias *bias)
{
	syscall(SYS_futex, &bias->inside, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void bias_stop(struct bias *bias)
{
	if (bias->owner && bias->owner != &bias_self)
		shut_out_owner(bias);
	bias->possible = false;
	__atomic_store_n(&bias->owner, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&bias->wanted, 0, __ATOMIC_RELEASE);
}

void bias_program_locked(struct bias *bias)
{
	const void *owner = bias->owner;

	if (owner == &bias_self || bias->ended || !bias->possible)
		return;
	if (!owner) {
		__atomic_store_n(&bias->owner, &bias_self, __ATOMIC_RELAXED);
		return;
	}
	shut_out_owner(bias);
	bias->ended = true;
	__atomic_store_n(&bias->owner, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&bias->wanted, 0, __ATOMIC_RELEASE);
}

void bias_backend_locked(struct bias *bias)
{
	if (bias->owner && bias->owner != &bias_self)
		shut_out_owner(bias);
}

void bias_backend_unlocking(struct bias *bias)
{
	if (bias->wanted)
		__atomic_store_n(&bias->wanted, 0, __ATOMIC_RELEASE);
}
