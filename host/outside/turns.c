/* SPDX-License-Identifier: BSD-3-Clause */
/* turns.c - libdat-turns.so's way to the library: which calls are the program's, and waiting. */
#define _GNU_SOURCE
#include "turns.h"

#include <link.h>

#define LIBRARIES 2 /* libdat and libibverbs */

static struct {
	const struct outside *table;
	uintptr_t from, to; /* its code */
} met[LIBRARIES];
static unsigned int mets;
/* The thread is in a call of the table, which may jump to libc without a trace of where it was. */
static __thread bool in_table __attribute__((tls_model("initial-exec")));

static int find_code(struct dl_phdr_info *info, size_t size, void *out)
{
	uintptr_t *range = out, from;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		from = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && range[0] >= from &&
		    range[0] < from + p->p_memsz) {
			range[0] = from;
			range[1] = from + p->p_memsz;
			return 1;
		}
	}
	return 0;
}

/* Its lock makes the calls come one at a time. */
void libdat_outside_meet(const struct outside *table)
{
	uintptr_t range[2] = { (uintptr_t)table->wait, 0 };
	unsigned int n = mets;

	if (table->size < sizeof(*table) || n == LIBRARIES)
		return;
	for (unsigned int i = 0; i < n; i++)
		if (met[i].table == table)
			return;
	dl_iterate_phdr(find_code, range);
	met[n].table = table;
	met[n].from = range[0];
	met[n].to = range[1];
	__atomic_store_n(&mets, n + 1, __ATOMIC_RELEASE);
}

static unsigned int libraries_met(void)
{
	return __atomic_load_n(&mets, __ATOMIC_ACQUIRE);
}

bool turns_is_program(const void *caller)
{
	unsigned int n = in_table ? 0 : libraries_met();

	for (unsigned int i = 0; i < n; i++)
		if ((uintptr_t)caller >= met[i].from && (uintptr_t)caller < met[i].to)
			return false;
	return n > 0;
}

static enum outside_wait wait_turn(uint64_t ns, bool descriptor)
{
	enum outside_wait outcome = OUTSIDE_NONE;
	unsigned int n = libraries_met();
	int before = errno;

	in_table = true;
	for (unsigned int i = 0; i < n && outcome == OUTSIDE_NONE; i++)
		outcome = met[i].table->wait(ns, descriptor);
	in_table = false;
	errno = before;
	return outcome;
}

void turns_tell(bool descriptor)
{
	unsigned int n = libraries_met();
	int before = errno;

	in_table = true;
	for (unsigned int i = 0; i < n; i++)
		met[i].table->tell(descriptor);
	in_table = false;
	errno = before;
}

static void leave_turn(void)
{
	in_table = true;
	for (unsigned int i = 0; i < libraries_met(); i++)
		met[i].table->leave();
	in_table = false;
}

uint64_t turns_now(void)
{
	uint64_t ns = 0;

	in_table = true;
	for (unsigned int i = 0; i < libraries_met() && !ns; i++)
		ns = met[i].table->now();
	in_table = false;
	return ns;
}

bool turns_let_others(uint64_t ns, bool descriptor)
{
	switch (wait_turn(ns, descriptor)) {
	case OUTSIDE_AGAIN:
		return true;
	case OUTSIDE_HOPELESS:
		leave_turn();
		return false;
	case OUTSIDE_NONE:
		break;
	}
	return false;
}

uint64_t turns_until(clockid_t clock, const struct timespec *abs)
{
	struct timespec ts;
	int64_t left;

	clock_gettime(clock, &ts);
	left = (int64_t)(abs->tv_sec - ts.tv_sec) * (int64_t)TURNS_NS + abs->tv_nsec - ts.tv_nsec;
	return left > 0 ? (uint64_t)left : 0;
}
