/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gone - memory that was registered and unmapped, in one of two processes: its use is an
 * error, the connection ends at both sides, and both processes live on.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "die.h"

#define QUALIFIER 7901
#define LOOK_US   1000
#define REGION    (4ul << 20)

enum op {
	SEND,
	WRITE,
	READ
};

/* A set of statuses; NONE: there is no completion. */
#define IS(status) (1u << DAT_DTO_##status)
#define NONE       0u

/*
 * What the requester gets, and the owner's Receive. A Send that is delivered at the post succeeds
 * when its payload is in the arena, before the receiver's memory is touched; then the connection
 * ends after it. Through the arena (bounce) all is delivered that way.
 */
#define EITHER (IS(SUCCESS) | IS(ERR_REMOTE_RESPONDER))

static const struct work {
	const char *name;
	enum op op;
	size_t bytes;
	bool here; /* the requester's memory is gone, not the owner's */
	unsigned int direct, bounce, owner;
} works[] = {
	{ "a Send of a few bytes into it", SEND, 64, false, EITHER, IS(SUCCESS),
	  IS(ERR_LOCAL_PROTECTION) },
	{ "a Send of a page into it", SEND, 4096, false, EITHER, IS(SUCCESS),
	  IS(ERR_LOCAL_PROTECTION) },
	{ "a long Send into it", SEND, REGION, false, IS(ERR_REMOTE_RESPONDER),
	  IS(SUCCESS) | IS(ERR_FLUSHED) | IS(ERR_REMOTE_RESPONDER),
	  IS(ERR_LOCAL_PROTECTION) | IS(ERR_FLUSHED) },
	{ "a Send of a few bytes from it", SEND, 64, true, IS(ERR_LOCAL_PROTECTION),
	  IS(ERR_LOCAL_PROTECTION), IS(ERR_FLUSHED) },
	{ "a Send of a page from it", SEND, 4096, true, IS(ERR_LOCAL_PROTECTION),
	  IS(ERR_LOCAL_PROTECTION), IS(ERR_FLUSHED) },
	{ "a long Send from it", SEND, REGION, true, IS(ERR_LOCAL_PROTECTION),
	  IS(ERR_LOCAL_PROTECTION), IS(ERR_FLUSHED) },
	{ "a Write into it", WRITE, 64, false, IS(ERR_REMOTE_ACCESS), IS(SUCCESS), NONE },
	{ "a Write from it", WRITE, 64, true, IS(ERR_LOCAL_PROTECTION), IS(ERR_LOCAL_PROTECTION),
	  NONE },
	{ "a Read of it", READ, 64, false, IS(ERR_REMOTE_ACCESS), IS(ERR_REMOTE_ACCESS), NONE },
	{ "a Read into it", READ, 64, true, IS(ERR_LOCAL_PROTECTION), IS(ERR_LOCAL_PROTECTION),
	  NONE },
};

#define WORKS ((int)(sizeof(works) / sizeof(works[0])))

/* What both processes see. */
struct shared {
	DAT_RMR_CONTEXT key;
	DAT_VADDR address;
	volatile unsigned int received; /* statuses of the owner's Receive */
	volatile int ready, closed;     /* the owner listens; connections that ended at the owner */
};

struct region {
	DAT_LMR_HANDLE lmr;
	DAT_LMR_TRIPLET segment;
	DAT_RMR_CONTEXT key;
	void *at;
};

static void region_make(struct region *region, const struct pair_node *node, size_t bytes)
{
	DAT_REGION_DESCRIPTION desc;

	region->at = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	desc.for_va = region->at;
	pair_check(dat_lmr_create(node->ia, DAT_MEM_TYPE_VIRTUAL, desc, REGION, node->pz,
				  DAT_MEM_PRIV_ALL_FLAG, &region->lmr, &region->segment.lmr_context,
				  &region->key, NULL, NULL),
		   "dat_lmr_create");
	region->segment.virtual_address = (DAT_VADDR)(uintptr_t)region->at;
	region->segment.segment_length = bytes;
}

static void region_free(struct region *region)
{
	pair_check(dat_lmr_free(region->lmr), "dat_lmr_free");
	munmap(region->at, REGION);
}

/* ---- the owner ---- */

struct owner {
	struct pair_node node;
	DAT_EVD_HANDLE dto, evd;
	struct region region;
};

/* Accept the connection; what it is for is ready before. */
static void own_one(struct shared *shared, struct owner *owner, const DAT_EVENT *request)
{
	const struct work *work = &works[shared->closed];
	struct region *region = &owner->region;
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_EP_HANDLE ep;

	region_make(region, &owner->node, work->bytes);
	shared->key = region->key;
	shared->address = region->segment.virtual_address;
	shared->received = NONE;
	pair_check(dat_ep_create(owner->node.ia, owner->node.pz, owner->dto, owner->dto, owner->evd,
				 NULL, &ep),
		   "dat_ep_create");
	if (work->op == SEND)
		pair_check(dat_ep_post_recv(ep, 1, &region->segment, cookie,
					    DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_recv");
	if (!work->here)
		munmap(region->at, REGION);
	pair_check(dat_cr_accept(request->event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL),
		   "dat_cr_accept");
}

static bool own_completion(struct shared *shared, const struct owner *owner)
{
	DAT_EVENT event;

	if (dat_evd_dequeue(owner->dto, &event) != DAT_SUCCESS)
		return false;
	shared->received |= 1u << event.event_data.dto_completion_event_data.status;
	return true;
}

static void own_event(struct shared *shared, struct owner *owner, const DAT_EVENT *event)
{
	if (event->event_number == DAT_CONNECTION_REQUEST_EVENT) {
		own_one(shared, owner, event);
	} else if (event->event_number != DAT_CONNECTION_EVENT_ESTABLISHED) {
		/*
		 * Completions come before the end of their connection, but perhaps after the last
		 * look at their EVD; a free of the EP would drop them.
		 */
		while (own_completion(shared, owner))
			;
		pair_check(dat_ep_free(event->event_data.connect_event_data.ep_handle),
			   "dat_ep_free");
		region_free(&owner->region);
		shared->closed++;
	}
}

/* It polls, for the CQ of one who waits is armed, and what it gets takes another way. */
static void own(struct shared *shared)
{
	struct owner owner;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	pair_open(&owner.node, "emu0", 1);
	pair_check(dat_evd_create(owner.node.ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL,
				  DAT_EVD_DTO_FLAG, &owner.dto),
		   "dat_evd_create");
	pair_check(dat_evd_create(owner.node.ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL,
				  DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, &owner.evd),
		   "dat_evd_create");
	pair_check(dat_psp_create(owner.node.ia, QUALIFIER, owner.evd, DAT_PSP_CONSUMER_FLAG, &psp),
		   "dat_psp_create");
	shared->ready = 1;
	for (;;) {
		if (own_completion(shared, &owner))
			continue;
		if (dat_evd_dequeue(owner.evd, &event) == DAT_SUCCESS)
			own_event(shared, &owner, &event);
		else
			sched_yield();
	}
}

/* ---- the requester ---- */

static DAT_RETURN post(DAT_EP_HANDLE ep, const struct shared *shared, const struct work *work,
		       DAT_LMR_TRIPLET *here)
{
	DAT_RMR_TRIPLET there = { .rmr_context = shared->key,
				  .target_address = shared->address,
				  .segment_length = work->bytes };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	switch (work->op) {
	case SEND:
		return dat_ep_post_send(ep, 1, here, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	case WRITE:
		return dat_ep_post_rdma_write(ep, 1, here, cookie, &there,
					      DAT_COMPLETION_DEFAULT_FLAG);
	case READ:
		return dat_ep_post_rdma_read(ep, 1, here, cookie, &there,
					     DAT_COMPLETION_DEFAULT_FLAG);
	}
	return DAT_INTERNAL_ERROR;
}

static bool try_work(struct peer *peer, const struct shared *shared, int i, bool bounce)
{
	const struct work *work = &works[i];
	unsigned int wanted = bounce ? work->bounce : work->direct;
	struct region region;
	DAT_DTO_COMPLETION_STATUS status;
	bool good;

	region_make(&region, &peer->node, work->bytes);
	connect_ep(peer->ep, QUALIFIER, peer->connect);
	if (work->here)
		munmap(region.at, REGION);
	pair_check(post(peer->ep, shared, work, &region.segment), "post");
	status = expect_event(peer->dto, DAT_DTO_COMPLETION_EVENT)
			 .event_data.dto_completion_event_data.status;
	expect_event(peer->connect, DAT_CONNECTION_EVENT_BROKEN);
	pair_check(dat_ep_reset(peer->ep), "dat_ep_reset");
	while (shared->closed <= i)
		usleep(LOOK_US);
	good = (1u << status & wanted) && (shared->received & ~work->owner) == 0 &&
	       !shared->received == !work->owner;
	if (!good)
		printf("# status %d, expected one of %#x; received %#x, expected one of %#x\n",
		       status, wanted, shared->received, work->owner);
	region_free(&region);
	return good;
}

int main(void)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const char *copy = getenv("DATSIM_COPY");
	bool bounce = copy && strcmp(copy, "bounce") == 0;
	struct peer peer = { 0 };
	int failed = 0;
	pid_t owner = fork();

	if (owner == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		own(shared);
	}
	hang_begin("memory that is gone");
	while (!shared->ready && waitpid(owner, NULL, WNOHANG) == 0)
		usleep(LOOK_US);
	peer_open(&peer);
	printf("1..%d\n", WORKS);
	for (int i = 0; i < WORKS; i++) {
		bool good = try_work(&peer, shared, i, bounce);

		printf("%s %d - %s fails\n", good ? "ok" : "not ok", i + 1, works[i].name);
		failed += !good;
	}
	kill(owner, SIGKILL);
	waitpid(owner, NULL, 0);
	pair_check(dat_ia_close(peer.node.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	free(peer.node.messages);
	return failed > 0;
}
