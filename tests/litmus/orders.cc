// SPDX-License-Identifier: BSD-3-Clause
/*
 * Orders that neither x86 nor ThreadSanitizer shows when they are left out: models of them, for
 * relacy, which tries all executions that the memory model of C11 permits. Models, not the code
 * itself: each has the loads, stores and fences of its source, in their order, and nothing else.
 * tests/litmus/orders.tsv names the lines of the sources, and tests/house/orders.sh sees when these
 * change.
 *
 *   orders MODEL      the orders of the source: exit status 0 if no execution is wrong
 *   orders MODEL N    the N-th of them left out: 0 if one is
 */
#include <cstdlib>
#include <cstring>
#include <iostream>

#include <relacy/relacy.hpp>

namespace
{

int left_out; // 1, 2 ...: this one of the model's orders; 0: none

rl::memory_order unless(int which, rl::memory_order order)
{
	return left_out == which ? rl::mo_relaxed : order;
}

void fence_unless(int which, rl::memory_order order)
{
	if (left_out != which)
		rl::atomic_thread_fence(order, $);
}

/*
 * host/bias.h. Membarrier is a fence on the processor of the owner, wherever that is; in the model
 * it is one where it has to take effect, between the store of `inside` and the look at the gate.
 */
struct bias : rl::test_suite<bias, 2> {
	rl::atomic<int> gate, inside;
	rl::var<int> data;

	void before()
	{
		gate($) = 1;
		inside($) = 0;
		data($) = 0;
	}
	void own()
	{
		inside.store(1, rl::mo_relaxed, $);
		fence_unless(1, rl::mo_seq_cst);
		if (gate.load(unless(2, rl::mo_acquire), $))
			data($) = data($) + 1;
		inside.store(0, unless(3, rl::mo_release), $);
	}
	void shut_out()
	{
		gate.store(0, rl::mo_seq_cst, $);
		fence_unless(4, rl::mo_seq_cst);
		if (inside.load(unless(5, rl::mo_acquire), $))
			return; // it would wait
		data($) = data($) + 1;
		gate.store(1, unless(6, rl::mo_release), $);
	}
	void thread(unsigned index)
	{
		if (index == 0)
			own();
		else
			shut_out();
	}
};

// emu/shared/exit.c: two processes exit at once, and one at least ends the fabric.
struct leave : rl::test_suite<leave, 2> {
	rl::atomic<int> exits[2];
	bool alone[2];

	void before()
	{
		exits[0]($) = exits[1]($) = 0;
	}
	void thread(unsigned index)
	{
		exits[index].store(1, rl::mo_relaxed, $);
		fence_unless(1, rl::mo_seq_cst);
		alone[index] = exits[1 - index].load(rl::mo_relaxed, $) != 0;
	}
	void after()
	{
		RL_ASSERT(alone[0] || alone[1]);
	}
};

/*
 * emu/shared/direct.h, recover.c: an event adds a completion and is rolled back; then another one
 * adds one that stays. The owner takes the second, whole, or none. The first two orders are of one
 * word, 2 * put + in_event, and the last change is two loads of it.
 */
struct rollback : rl::test_suite<rollback, 2> {
	rl::atomic<int> word;
	rl::var<int> completion;

	void before()
	{
		word($) = 0;
		completion($) = 0;
	}
	void add(int what)
	{
		word.store(1, rl::mo_relaxed, $);
		word.store(3, rl::mo_relaxed, $);
		completion($) = what;
	}
	void end(int put)
	{
		word.store(2 * put, unless(1, rl::mo_release), $);
	}
	void roll_back()
	{
		if (left_out == 3)
			end(1);
		word.store(1, rl::mo_relaxed, $);
		end(0);
	}
	void poll()
	{
		int look = word.load(unless(2, rl::mo_acquire), $);

		if (left_out == 4)
			look = (look & 2) | (word.load(rl::mo_acquire, $) & 1);
		if (look == 2)
			RL_ASSERT(completion($) == 2);
	}
	void thread(unsigned index)
	{
		if (index == 1) {
			poll();
			return;
		}
		add(1);
		roll_back();
		add(2);
		end(1);
	}
};

// emu/payload/reach_here.c: the program that polls its last word is on a processor that keeps loads in
// order, or has a barrier.
struct reach : rl::test_suite<reach, 2> {
	rl::atomic<int> first, last;

	void before()
	{
		first($) = last($) = 0;
	}
	void thread(unsigned index)
	{
		if (index == 0) {
			first.store(1, rl::mo_relaxed, $);
			fence_unless(1, rl::mo_release);
			last.store(1, rl::mo_relaxed, $);
		} else if (last.load(rl::mo_acquire, $)) {
			RL_ASSERT(first.load(rl::mo_relaxed, $) == 1);
		}
	}
};

/*
 * emu/payload/split.c: payloads of one piece each. `claims` is 4 * offer, and 1 more if the piece
 * is claimed, or 2 if nothing is offered. Offer 0 is open from the start, of a sender that has
 * died. A sender for which the receiver does not end in time goes another way; it returns here.
 */
struct split : rl::test_suite<split, 2> {
	rl::atomic<int> claims, fields, helps;
	rl::var<int> source, target;

	void before()
	{
		claims($) = fields($) = helps($) = 0;
		source($) = target($) = 0;
	}
	bool offer(int number)
	{
		claims.exchange(4 * number + 2, unless(1, rl::mo_acq_rel), $);
		if (helps.load(unless(2, rl::mo_acquire), $))
			return false;
		rl::atomic_thread_fence(rl::mo_release, $);
		fields.store(number, rl::mo_relaxed, $);
		claims.store(4 * number, unless(3, rl::mo_release), $);
		return true;
	}
	void send(int number)
	{
		int open = 4 * number;

		if (claims.compare_exchange_strong(open, open + 1, rl::mo_acq_rel, $,
						   unless(4, rl::mo_acquire), $))
			target($) = number;
		if (helps.load(unless(5, rl::mo_acquire), $))
			return;
		source($) = number; // the program may use its buffer again
	}
	void help()
	{
		int look = claims.load(unless(6, rl::mo_acquire), $), offered;

		if (look & 3)
			return;
		offered = fields.load(rl::mo_relaxed, $);
		rl::atomic_thread_fence(rl::mo_acquire, $);
		helps.store(1, rl::mo_relaxed, $);
		if (claims.compare_exchange_strong(look, look + 1, unless(7, rl::mo_acq_rel), $,
						   rl::mo_relaxed, $)) {
			RL_ASSERT(offered == look / 4);
			target($) = look ? (int)source($) : 0;
		}
		helps.store(0, unless(8, rl::mo_release), $);
	}
	void thread(unsigned index)
	{
		if (index == 1)
			help();
		else
			for (int number = 1; number <= 2 && offer(number); number++)
				send(number);
	}
};

template <typename model> bool holds()
{
	rl::test_params params;

	params.search_type = rl::sched_full;
	return rl::simulate<model>(params);
}

bool is_right(const char *model)
{
	if (strcmp(model, "bias") == 0)
		return holds<bias>();
	if (strcmp(model, "exit") == 0)
		return holds<leave>();
	if (strcmp(model, "rollback") == 0)
		return holds<rollback>();
	if (strcmp(model, "reach") == 0)
		return holds<reach>();
	if (strcmp(model, "split") == 0)
		return holds<split>();
	std::cerr << "orders: there is no model " << model << "\n";
	exit(2);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 2 || argc > 3) {
		std::cerr << "usage: orders MODEL [N]\n";
		return 2;
	}
	left_out = argc == 3 ? atoi(argv[2]) : 0;
	return is_right(argv[1]) == (left_out == 0) ? 0 : 1;
}
