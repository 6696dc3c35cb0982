/* SPDX-License-Identifier: BSD-3-Clause */
/* Multicast groups: one list of members for all of them. */
#include "group.h"

#include <errno.h>
#include <string.h>

#include "sharing.h"

/* Bounded: in a shared fabric another process may have written garbage. */
static uint32_t members_of(const struct emu_world *w)
{
	return w->fab->members < EMU_MEMBERS ? w->fab->members : EMU_MEMBERS;
}

static struct emu_member *find_member(struct emu_world *w, uint32_t qp, const uint8_t gid[NIC_GID])
{
	for (uint32_t i = 0; i < members_of(w); i++) {
		struct emu_member *m = &w->fab->member[i];

		if (m->qp == qp && (qp == 0 || memcmp(m->gid, gid, NIC_GID) == 0))
			return m;
	}
	return NULL;
}

bool emu_group_has(struct emu_world *w, uint32_t qp, const uint8_t gid[NIC_GID])
{
	return qp && find_member(w, qp, gid);
}

static struct emu_member *free_member(struct emu_world *w)
{
	struct emu_member *m = find_member(w, 0, NULL);

	if (m || members_of(w) == EMU_MEMBERS)
		return m;
	m = &w->fab->member[w->fab->members];
	if (!emu_back(w, m, sizeof(*m)))
		return NULL;
	m->qp = 0;
	w->fab->members++;
	return m;
}

int emu_group_change(struct nic_qp *base, const uint8_t gid[NIC_GID], bool join)
{
	struct emu_world *w = emu_world_of(base->nic);
	struct emu_qp *qp = emu_local_qp(base)->entry;
	uint32_t index = emu_qp_index(w, qp);
	struct emu_member *m = find_member(w, index, gid);

	if (qp->kind != NIC_QP_DATAGRAM || (!join && !m))
		return -EINVAL;
	if (!join) {
		m->qp = 0;
		return 0;
	}
	if (m)
		return -EALREADY;
	m = free_member(w);
	if (!m)
		return -ENOMEM;
	memcpy(m->gid, gid, NIC_GID);
	__asm__ volatile("" ::: "memory"); /* a process that dies here leaves no other group */
	m->qp = index;
	return 0;
}

void emu_group_forget(struct emu_world *w, uint32_t qp)
{
	for (uint32_t i = 0; i < members_of(w); i++)
		if (w->fab->member[i].qp == qp)
			w->fab->member[i].qp = 0;
}

uint32_t emu_group_next(const struct emu_world *w, const uint8_t gid[NIC_GID], uint32_t *place)
{
	while (*place < members_of(w)) {
		const struct emu_member *m = &w->fab->member[(*place)++];

		if (m->qp && m->qp <= EMU_QPS && memcmp(m->gid, gid, NIC_GID) == 0)
			return m->qp;
	}
	return 0;
}
