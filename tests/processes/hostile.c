/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hostile ROUNDS [SEED] - two processes exchange messages while a third writes garbage into their
 * fabric's arena. They may get errors; they must not crash and must not hang.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dat/sim.h>

#include "die.h"
#include "emu/shared/shared.h"

#define WRITES_MOST  12
#define LIFE_NS      60000000u /* that they talk at most */
#define LOOK_MS      1000
#define ONE_PAUSE_US 1500

static uint64_t state;
static char what[200];

static uint64_t chance(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- the two processes ---- */

struct server {
	struct pair_node node;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	struct pair_target target;
};

static void post_receive(struct server *server)
{
	DAT_LMR_TRIPLET segment = pair_segment(&server->node, 0);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	pair_check(dat_ep_post_recv(server->ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_recv");
}

static void welcome(struct server *server, const DAT_EVENT *event)
{
	DAT_CR_HANDLE cr = event->event_data.cr_arrival_event_data.cr_handle;
	struct pair_target mine = pair_target(&server->node, 1);
	DAT_CR_PARAM request;

	pair_check(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request), "dat_cr_query");
	if (request.private_data_size < (DAT_COUNT)sizeof(server->target))
		pair_fail("a request without data");
	memcpy(&server->target, request.private_data, sizeof(server->target));
	pair_check(dat_ep_create(server->node.ia, server->node.pz, server->evd, server->evd,
				 server->evd, NULL, &server->ep),
		   "dat_ep_create");
	post_receive(server);
	pair_check(dat_cr_accept(cr, server->ep, sizeof(mine), &mine), "dat_cr_accept");
}

static void answer(struct server *server, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	DAT_RMR_TRIPLET target = pair_remote(&server->target);
	DAT_LMR_TRIPLET segment = pair_segment(&server->node, 1);
	DAT_DTO_COOKIE none = { .as_64 = 0 };

	if (dto->status != DAT_DTO_SUCCESS)
		pair_fail("a transfer failed");
	if (dto->user_cookie.as_64 != 1)
		return;
	pair_answer(&server->node.messages[0], &server->node.messages[1]);
	post_receive(server);
	pair_check(dat_ep_post_rdma_write(server->ep, 1, &segment, none, &target,
					  DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_rdma_write");
}

static void serve_one(void)
{
	uint64_t end = now_ns() + LIFE_NS;
	struct server server = { .ep = DAT_HANDLE_NULL };
	DAT_PSP_HANDLE psp;
	DAT_COUNT more;
	DAT_EVENT event;

	pair_open(&server.node, "emu0", 2);
	pair_check(dat_evd_create(server.node.ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL,
				  DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG,
				  &server.evd),
		   "dat_evd_create");
	pair_check(dat_psp_create(server.node.ia, PAIR_QUALIFIER, server.evd, DAT_PSP_CONSUMER_FLAG,
				  &psp),
		   "dat_psp_create");
	while (now_ns() < end) {
		if (dat_evd_wait(server.evd, LIFE_NS / 3000, 1, &event, &more) != DAT_SUCCESS)
			continue;
		if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
			welcome(&server, &event);
		else if (event.event_number == DAT_DTO_COMPLETION_EVENT)
			answer(&server, &event);
		else if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
			break;
	}
	dat_ia_close(server.node.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void ask_for_a_while(void)
{
	uint64_t end = now_ns() + LIFE_NS;
	struct peer peer = { 0 };

	/* A lost message does not come. */
	peer_patience_us = LIFE_NS / 1000;
	peer_tries = 20;

	peer_open(&peer);
	peer_connect(&peer);
	while (now_ns() < end)
		peer_ask(&peer);
	dat_ep_disconnect(peer.ep, DAT_CLOSE_ABRUPT_FLAG);
	dat_ia_close(peer.node.ia, DAT_CLOSE_ABRUPT_FLAG);
}

static pid_t start(void (*life)(void))
{
	pid_t pid = fork();
	int quiet;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	quiet = open("/dev/null", O_WRONLY);
	if (!getenv("HOSTILE_LOUD"))
		dup2(quiet, STDERR_FILENO);
	life();
	_exit(0);
}

/* ---- the writer ---- */

struct part {
	const char *name;
	size_t from, to;
};

#define FIELD(field)                                                            \
	{                                                                       \
#field, offsetof(struct emu_fabric, field),                     \
			offsetof(struct emu_fabric, field) + sizeof(fab->field) \
	}
#define ENTRIES(table, entries)                                                            \
	{                                                                                  \
#entries, offsetof(struct emu_fabric, entries),                            \
			offsetof(struct emu_fabric, entries) + 4 * sizeof(fab->entries[0]) \
	}

/* Where there is anything. */
static struct part choose(const struct emu_fabric *fab)
{
	const struct part parts[] = {
		FIELD(config),
		FIELD(now),
		FIELD(sequence),
		FIELD(events),
		FIELD(mem_epoch),
		FIELD(watched),
		FIELD(rules),
		FIELD(pds),
		FIELD(mrs),
		FIELD(mws),
		FIELD(cqs),
		FIELD(srqs),
		FIELD(qps),
		FIELD(listeners),
		FIELD(conns),
		FIELD(listen_hash),
		FIELD(pool_next),
		FIELD(pool_end),
		FIELD(pool_free),
		FIELD(size),
		ENTRIES(adapters, adapters),
		ENTRIES(links, link),
		ENTRIES(rule, rule),
		ENTRIES(pd, pd),
		ENTRIES(mr, mr),
		ENTRIES(cq, cq),
		ENTRIES(cq, cq),
		ENTRIES(qp, qp),
		ENTRIES(qp, qp),
		ENTRIES(qp, qp),
		ENTRIES(listener, listener),
		ENTRIES(conn, conn),
		ENTRIES(heap, heap),
		{ "shared", offsetof(struct emu_fabric, shared),
		  offsetof(struct emu_fabric, shared.process[3]) },
		{ "processes", offsetof(struct emu_fabric, shared.process[1]),
		  offsetof(struct emu_fabric, shared.process[3]) },
		{ "turns", offsetof(struct emu_fabric, shared.lockstep),
		  offsetof(struct emu_fabric, shared.lockstep.thread[5]) },
		{ "handed", offsetof(struct emu_fabric, shared.lockstep.handed),
		  offsetof(struct emu_fabric, shared.lockstep.handed) + sizeof(struct emu_handed) },
		{ "pool", offsetof(struct emu_fabric, pool),
		  offsetof(struct emu_fabric, pool) + 4 * 65536 },
		{ "pool", offsetof(struct emu_fabric, pool),
		  offsetof(struct emu_fabric, pool) + 4 * 65536 },
	};

	return parts[chance(sizeof(parts) / sizeof(parts[0]))];
}

static void write_one(uint8_t *arena)
{
	static const uint64_t usual[] = {
		0, 1, 2, 0xff, 0xffff, 0x7fffffff, 0xffffffff, UINT64_MAX
	};
	struct part part = choose((const struct emu_fabric *)arena);
	size_t at = part.from + chance(part.to - part.from), size = (size_t)1 << chance(4);
	uint64_t value = chance(2) ? usual[chance(8)] : chance(UINT64_MAX);

	if (chance(3) == 0)
		size = 1;
	at &= ~(size - 1);
	if (chance(2))
		memcpy(arena + at, &value, size);
	else
		arena[at] ^= (uint8_t)(1u << chance(8));
	snprintf(what, sizeof(what), "%s + %zu, %zu bytes, %#lx", part.name, at - part.from, size,
		 value);
	if (getenv("HOSTILE_LOUD"))
		fprintf(stderr, "%s\n", what);
}

static uint8_t *map_arena(const char *name, size_t *size)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char path[300];
	struct stat st;
	void *map;
	int fd;

	snprintf(path, sizeof(path), "%s/datsim/%s", runtime ? runtime : "", name);
	fd = open(path, O_RDWR);
	if (fd < 0 || fstat(fd, &st))
		return NULL;
	*size = (size_t)st.st_size;
	map = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

/* ---- the verdict ---- */

/* Exits with a status of its own. */
static bool ends_well(pid_t pid, const char *who)
{
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	struct idle idle = { 0 };
	int status, ended;

	while ((ended = poll(&end, 1, LOOK_MS)) == 0 && !hang_counts(&idle))
		;
	close(end.fd);
	if (ended == 0) {
		printf("# the %s hangs\n", who);
		if (getenv("HOSTILE_STOP"))
			pause();
		kill(pid, SIGKILL);
	}
	waitpid(pid, &status, 0);
	if (ended == 1 && WIFSIGNALED(status))
		printf("# the %s: %s\n", who, strsignal(WTERMSIG(status)));
	return ended == 1 && WIFEXITED(status);
}

static bool try_one(uint64_t seed)
{
	char name[DAT_SIM_FABRIC_NAME], path[300];
	int writes, early;
	uint8_t *arena;
	size_t size;
	pid_t server, client;
	DAT_RETURN ret;
	bool good;

	state = (seed + 1) * 0x9e3779b97f4a7c15u;
	snprintf(name, sizeof(name), "hostile-%d", getpid());
	setenv("DATSIM_FABRIC", name, 1);
	ret = dat_sim_fabric_create(name, NULL);
	if (ret != DAT_SUCCESS) {
		printf("# seed %lu: no fabric %s: %#x\n", seed, name, (unsigned int)ret);
		return false;
	}
	arena = map_arena(name, &size);
	if (!arena) {
		printf("# seed %lu: the arena of %s: %s\n", seed, name, strerror(errno));
		return false;
	}
	writes = 1 + (int)chance(WRITES_MOST);
	/* Some processes join an arena that is garbage already. */
	early = chance(4) ? 0 : writes;
	for (int i = 0; i < early; i++)
		write_one(arena);
	server = start(serve_one);
	client = start(ask_for_a_while);
	for (int i = early; i < writes; i++) {
		usleep((useconds_t)chance(ONE_PAUSE_US));
		write_one(arena);
	}
	good = ends_well(client, "client");
	good = ends_well(server, "server") && good;
	if (!good)
		printf("# seed %lu, after %d writes, the last: %s\n", seed, writes, what);
	munmap(arena, size);
	snprintf(path, sizeof(path), "%s/datsim/%s", getenv("XDG_RUNTIME_DIR"), name);
	unlink(path);
	return good;
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	uint64_t first = argc > 2 ? strtoul(argv[2], NULL, 10) : 1, bad = 0;

	if (!rounds) {
		fputs("usage: hostile ROUNDS [SEED]\n", stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (uint64_t i = 0; i < rounds; i++)
		bad += !try_one(first + i);
	printf("%s 1 - %lu arenas with nonsense in them: no process crashes or hangs\n1..1\n",
	       bad ? "not ok" : "ok", rounds);
	return bad > 0;
}
