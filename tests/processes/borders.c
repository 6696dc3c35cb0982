/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * borders - RDMA into another process's memory: it succeeds with the right key, within the bounds
 * and with the privilege, and never otherwise. Both processes map that memory, so the test can see
 * every byte that changed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "die.h"

#define QUALIFIER 7900
#define LOOK_US   5000
#define REGION    4096 /* bytes of each; a gap of the same size follows it */
#define PIECE     64
#define CANARY    0xa5

enum region {
	ALL,
	READ_ONLY,
	WRITE_ONLY,
	LOCAL,
	OTHER_PZ,
	FREED,
	REGIONS
};

static const DAT_MEM_PRIV_FLAGS privileges[REGIONS] = {
	[ALL] = DAT_MEM_PRIV_ALL_FLAG,
	[READ_ONLY] = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG,
	[WRITE_ONLY] = DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
	[LOCAL] = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
	[OTHER_PZ] = DAT_MEM_PRIV_ALL_FLAG,
	[FREED] = DAT_MEM_PRIV_ALL_FLAG,
};

/* What both processes see. */
struct shared {
	uint8_t memory[REGIONS][2][REGION]; /* [0]: the region, [1]: a gap that must not change */
	DAT_RMR_CONTEXT key[REGIONS];
	volatile int ready;
};

struct reach {
	const char *name;
	bool read;
	enum region region;
	int64_t offset;
	DAT_VLEN length;
	uint32_t key_plus; /* to the right key */
	bool allowed;
};

static const struct reach reaches[] = {
	{ "a Write", false, ALL, 128, PIECE, 0, true },
	{ "a Read", true, ALL, 128, PIECE, 0, true },
	{ "a Write to the last bytes", false, ALL, REGION - PIECE, PIECE, 0, true },
	{ "a Write where only that is allowed", false, WRITE_ONLY, 0, PIECE, 0, true },
	{ "a Read where only that is allowed", true, READ_ONLY, 0, PIECE, 0, true },
	{ "a Write with another key", false, ALL, 0, PIECE, 1, false },
	{ "a Read with another key", true, ALL, 0, PIECE, 0x100, false },
	{ "a Write with a key of no table", false, ALL, 0, PIECE, 0x80000000u, false },
	{ "a Write beyond the end", false, ALL, REGION - PIECE + 1, PIECE, 0, false },
	{ "a Read beyond the end", true, ALL, REGION, PIECE, 0, false },
	{ "a Write before the beginning", false, READ_ONLY, -1, PIECE, 0, false },
	{ "a Write before the beginning of one that may be written", false, WRITE_ONLY, -1, PIECE,
	  0, false },
	{ "a Read far away", true, ALL, INT64_MAX, PIECE, 0, false },
	{ "a Write where reading is allowed", false, READ_ONLY, 0, PIECE, 0, false },
	{ "a Read where writing is allowed", true, WRITE_ONLY, 0, PIECE, 0, false },
	{ "a Write to local memory", false, LOCAL, 0, PIECE, 0, false },
	{ "a Read of local memory", true, LOCAL, 0, PIECE, 0, false },
	{ "a Write into another PZ", false, OTHER_PZ, 0, PIECE, 0, false },
	{ "a Write to what was deregistered", false, FREED, 0, PIECE, 0, false },
	{ "a Read of what was deregistered", true, FREED, 0, PIECE, 0, false },
};

#define REACHES ((int)(sizeof(reaches) / sizeof(reaches[0])))

/* ---- the owner of the memory ---- */

static void register_all(struct shared *shared, const struct pair_node *node)
{
	DAT_PZ_HANDLE other;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;
	DAT_VADDR address;
	DAT_VLEN length;

	pair_check(dat_pz_create(node->ia, &other), "dat_pz_create");
	for (int i = 0; i < REGIONS; i++) {
		DAT_REGION_DESCRIPTION region = { .for_va = shared->memory[i][0] };

		pair_check(dat_lmr_create(node->ia, DAT_MEM_TYPE_VIRTUAL, region, REGION,
					  i == OTHER_PZ ? other : node->pz, privileges[i], &lmr,
					  &local, &shared->key[i], &length, &address),
			   "dat_lmr_create");
		if (i == FREED)
			pair_check(dat_lmr_free(lmr), "dat_lmr_free");
	}
}

static void own(struct shared *shared)
{
	struct pair_node node;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;
	DAT_COUNT more;
	DAT_EVENT event;

	pair_open(&node, "emu0", 1);
	register_all(shared, &node);
	pair_check(dat_evd_create(node.ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL,
				  DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG,
				  &evd),
		   "dat_evd_create");
	pair_check(dat_psp_create(node.ia, QUALIFIER, evd, DAT_PSP_CONSUMER_FLAG, &psp),
		   "dat_psp_create");
	shared->ready = 1;
	for (;;) {
		pair_check(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more),
			   "dat_evd_wait");
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT) {
			pair_check(dat_ep_create(node.ia, node.pz, evd, evd, evd, NULL, &ep),
				   "dat_ep_create");
			pair_check(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
						 ep, 0, NULL),
				   "dat_cr_accept");
		} else if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED) {
			ep = event.event_data.connect_event_data.ep_handle;
			pair_check(dat_ep_free(ep), "dat_ep_free");
		}
	}
}

/* ---- the requester ---- */

static DAT_DTO_COMPLETION_STATUS reach_for(struct peer *peer, const struct shared *shared,
					   const struct reach *reach)
{
	DAT_LMR_TRIPLET here = pair_segment(&peer->node, 0);
	DAT_RMR_TRIPLET there = {
		.rmr_context = shared->key[reach->region] + reach->key_plus,
		.target_address = (DAT_VADDR)(uintptr_t)shared->memory[reach->region][0] +
				  (DAT_VADDR)reach->offset,
		.segment_length = reach->length,
	};
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_RETURN ret;

	here.segment_length = reach->length;
	if (reach->read)
		ret = dat_ep_post_rdma_read(peer->ep, 1, &here, cookie, &there,
					    DAT_COMPLETION_DEFAULT_FLAG);
	else
		ret = dat_ep_post_rdma_write(peer->ep, 1, &here, cookie, &there,
					     DAT_COMPLETION_DEFAULT_FLAG);
	pair_check(ret, "dat_ep_post_rdma");
	return expect_event(peer->dto, DAT_DTO_COMPLETION_EVENT)
		.event_data.dto_completion_event_data.status;
}

/* Every byte is CANARY, except those of a Write that succeeded. */
static bool untouched(struct shared *shared, const struct reach *reach)
{
	uint8_t *all = shared->memory[0][0];
	size_t from = sizeof(shared->memory), to = from;

	if (reach->allowed && !reach->read) {
		from = (size_t)reach->region * 2 * REGION + (size_t)reach->offset;
		to = from + reach->length;
	}
	for (size_t i = 0; i < sizeof(shared->memory); i++)
		if (all[i] != (i >= from && i < to ? 0x5a : CANARY))
			return false;
	return true;
}

static bool try_reach(struct peer *peer, struct shared *shared, const struct reach *reach)
{
	uint8_t *mine = (uint8_t *)peer->node.messages;
	DAT_DTO_COMPLETION_STATUS status;
	bool got;

	memset(shared->memory, CANARY, sizeof(shared->memory));
	memset(mine, 0x5a, PIECE);
	connect_ep(peer->ep, QUALIFIER, peer->connect);
	status = reach_for(peer, shared, reach);
	if (reach->allowed)
		pair_check(dat_ep_disconnect(peer->ep, DAT_CLOSE_GRACEFUL_FLAG),
			   "dat_ep_disconnect");
	expect_event(peer->connect, reach->allowed ? DAT_CONNECTION_EVENT_DISCONNECTED
						   : DAT_CONNECTION_EVENT_BROKEN);
	pair_check(dat_ep_reset(peer->ep), "dat_ep_reset");
	/* Through the arena, its owner puts it there: soon. */
	while (reach->allowed && !untouched(shared, reach))
		usleep(LOOK_US);
	got = mine[0] == CANARY && mine[PIECE - 1] == CANARY;
	return status == (reach->allowed ? DAT_DTO_SUCCESS : DAT_DTO_ERR_REMOTE_ACCESS) &&
	       got == (reach->allowed && reach->read) && untouched(shared, reach);
}

int main(void)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct peer peer = { 0 };
	int failed = 0;
	pid_t owner;

	owner = fork();
	if (owner == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		own(shared);
	}
	hang_begin("another process's memory");
	while (!shared->ready && waitpid(owner, NULL, WNOHANG) == 0)
		usleep(LOOK_US);
	peer_open(&peer);
	printf("1..%d\n", REACHES);
	for (int i = 0; i < REACHES; i++) {
		bool good = try_reach(&peer, shared, &reaches[i]);

		printf("%s %d - %s %s\n", good ? "ok" : "not ok", i + 1, reaches[i].name,
		       reaches[i].allowed ? "gets there" : "is refused");
		failed += !good;
	}
	kill(owner, SIGKILL);
	waitpid(owner, NULL, 0);
	pair_check(dat_ia_close(peer.node.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	free(peer.node.messages);
	return failed > 0;
}
