/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two processes of arena.h as programs of libibverbs and librdmacm: those of exchange.h.
 * Between two questions, the client sets a word of the arena. Memory that is not registered must
 * stay as it is.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/processes/arena.h"
#include "exchange.h"

#define PAGE        4096u
#define PAGES       ((sizeof(struct exchange_memory) + PAGE - 1) / PAGE)
#define PATIENCE_MS 80 /* with an event; it may be lost */
#define CONNECTS    10
#define CALL_S      20 /* for a trial; then the process hangs and dies of SIGALRM */
#define ROUNDS      2  /* of a trial */
#define CANARY      0xa5

struct arena_control *arena_control;

static uint8_t *memory; /* a page of canaries, what is registered, another page */
static bool asks;       /* this is the client */

static struct exchange_memory *registered(void)
{
	return (struct exchange_memory *)(void *)(memory + PAGE);
}

void arena_pair_begin(void)
{
	memory = mmap(NULL, (PAGES + 2) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (memory == MAP_FAILED)
		exit(2);
	memset(memory, CANARY, (PAGES + 2) * PAGE);
	exchange_patience_ms = PATIENCE_MS;
	exchange_tries = CONNECTS;
}

static bool is_untouched(size_t from, size_t to)
{
	while (from < to)
		if (memory[from++] != CANARY)
			return false;
	return true;
}

bool arena_pair_untouched(void)
{
	return is_untouched(0, (PAGES + 2) * PAGE);
}

/* Something has written where it must not: a death that the judge sees. */
static void check_canaries(void)
{
	if (!is_untouched(0, PAGE) ||
	    !is_untouched(PAGE + sizeof(struct exchange_memory), (PAGES + 2) * PAGE))
		abort();
}

/* The server cleans up after the client, which every second time is killed. */
void exchange_fail(const char *what)
{
	check_canaries();
	fprintf(stderr, "the %s: %s\n", asks ? "client" : "server", what);
	if (asks && arena_control->next % 2)
		kill(getpid(), SIGKILL);
	exit(1);
}

static bool serves_on(void)
{
	static bool listens;

	alarm(CALL_S);
	check_canaries();
	if (!listens)
		__atomic_store_n(&arena_control->ready, 1, __ATOMIC_SEQ_CST);
	listens = true;
	return !__atomic_load_n(&arena_control->ended, __ATOMIC_SEQ_CST);
}

void arena_serve(void)
{
	alarm(CALL_S);
	exchange_serve(registered(), serves_on);
	check_canaries();
	alarm(CALL_S);
	exit(0);
}

void arena_ask(void)
{
	struct exchange x;

	asks = true;
	alarm(CALL_S);
	exchange_open(&x, registered());
	exchange_connect(&x);
	exchange_ask(&x);
	exchange_need(arena_words_begin(), "the arena cannot be mapped");
	if (!arena_control->seed)
		arena_control->trials = arena_words_trials();
	while (arena_control->next < arena_control->trials) {
		alarm(CALL_S);
		arena_word_set(arena_control->next++);
		for (int i = 0; i < ROUNDS; i++)
			exchange_ask(&x);
		check_canaries();
		arena_word_restore();
		arena_control->harmless++;
	}
	alarm(CALL_S);
	exchange_disconnect(&x);
	exchange_close(&x);
	exit(0);
}
