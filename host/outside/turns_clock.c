/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_clock.c - the clocks of a program in lockstep: virtual time, from dates that are the same
 * in each run. Clocks of processor time are the kernel's, and so are all of a program that reads
 * the processor's cycle counter.
 *
 * A clock never goes back. While the process is in no fabric, at its end above all, clocks go on
 * with real time from where they were.
 */
#define _GNU_SOURCE
#include <link.h>
#include <string.h>
#include <sys/time.h>

#include "turns.h"

#define READ_NS        1000u       /* pass with each reading, so that a loop of them ends */
#define AHEAD_MOST_NS  64000u      /* passes in the process alone; then the others have turns */
#define REALTIME_FIRST 1767225600u /* seconds: the first of January 2026 */
#define UPTIME_FIRST   1000u
#define SEQUENCE_BYTES 16 /* rdtsc and shl are so close together */

static struct {
	pthread_mutex_t lock;
	uint64_t last;    /* what was read */
	uint64_t base;    /* of virtual time: another fabric begins at 0 again */
	uint64_t now;     /* virtual time at the last reading in a fabric */
	uint64_t outside; /* real time at the first reading outside one; 0: inside */
	uint64_t uptime;  /* seconds that the monotonic clocks begin with */
} clock_of = { .lock = PTHREAD_MUTEX_INITIALIZER, .uptime = UPTIME_FIRST };

/*
 * Is there rdtsc, and soon shl $32, %rdx? Constants may be beside the code, with red zones between
 * them in a program that AddressSanitizer watches. They are read as bytes here, so there are no
 * checks and no calls, such as memmem, that AddressSanitizer would check.
 */
__attribute__((no_sanitize("address"))) static bool reads_cycles(const uint8_t *at,
								 const uint8_t *end)
{
	for (; at < end; at++) {
		if (at[0] != 0x0f || at[1] != 0x31)
			continue;
		for (const uint8_t *s = at + 2; s < at + SEQUENCE_BYTES - 3; s++)
			if (s[0] == 0x48 && s[1] == 0xc1 && s[2] == 0xe2 && s[3] == 0x20)
				return true;
	}
	return false;
}

/*
 * Does the program read the processor's cycle counter? It compares that with the clock, as perftest
 * does to learn the processor's frequency, and has to see the real one.
 */
static int has_cycle_counter(struct dl_phdr_info *info, size_t size, void *out)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uint8_t *at = (const uint8_t *)(info->dlpi_addr + p->p_vaddr);

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && (p->p_flags & PF_R) &&
		    p->p_memsz >= SEQUENCE_BYTES)
			*(bool *)out |= reads_cycles(at, at + p->p_memsz - SEQUENCE_BYTES);
	}
	return 1; /* the program is the first */
}

static bool measures_cycles;

static void look_at_program(void)
{
	dl_iterate_phdr(has_cycle_counter, &measures_cycles);
}

static bool program_read; /* a monotonic clock of the machine */

static uint64_t uptime_first(void)
{
	uint64_t first;

	REAL(pthread_mutex_lock)(&clock_of.lock);
	first = clock_of.uptime;
	REAL(pthread_mutex_unlock)(&clock_of.lock);
	return first;
}

/* Seconds at the beginning; 0: the clock is not virtual. */
static uint64_t first_of(clockid_t clock)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, look_at_program);
	if (measures_cycles)
		return 0;
	switch (clock) {
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		return uptime_first();
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_TAI:
		return REALTIME_FIRST;
	default:
		return 0;
	}
}

static uint64_t real_now(clockid_t clock)
{
	struct timespec ts;

	REAL(clock_gettime)(clock, &ts);
	return (uint64_t)ts.tv_sec * TURNS_NS + (uint64_t)ts.tv_nsec;
}

void turns_clock_go_on(void)
{
	if (!__atomic_exchange_n(&program_read, false, __ATOMIC_RELAXED))
		return;
	REAL(pthread_mutex_lock)(&clock_of.lock);
	clock_of.uptime = real_now(CLOCK_BOOTTIME) / TURNS_NS + 1; /* the greatest of them */
	REAL(pthread_mutex_unlock)(&clock_of.lock);
}

static uint64_t inside_at(uint64_t now)
{
	if (clock_of.outside || now < clock_of.now)
		clock_of.base = clock_of.last > now ? clock_of.last - now : clock_of.base;
	clock_of.outside = 0;
	clock_of.now = now;
	return clock_of.base + now;
}

static uint64_t outside_at(void)
{
	uint64_t real = real_now(CLOCK_MONOTONIC);

	if (!clock_of.outside) {
		clock_of.outside = real;
		clock_of.base = clock_of.last;
	}
	return clock_of.base + real - clock_of.outside;
}

/* Virtual time, from the beginning of the process's clock. */
static uint64_t clock_look(void)
{
	uint64_t now, at;
	bool inside = turns_time(&now);

	REAL(pthread_mutex_lock)(&clock_of.lock);
	at = inside ? inside_at(now) : outside_at();
	REAL(pthread_mutex_unlock)(&clock_of.lock);
	return at;
}

/* Later than what the program read before, and ahead of virtual time within a bound. */
static uint64_t read_clock(void)
{
	uint64_t at = clock_look(), read = clock_of.last + READ_NS;

	if (read < at)
		read = at;
	if (read - at >= AHEAD_MOST_NS)
		turns_let_others(read - at, false);
	REAL(pthread_mutex_lock)(&clock_of.lock);
	if (read > clock_of.last)
		clock_of.last = read;
	read = clock_of.last;
	REAL(pthread_mutex_unlock)(&clock_of.lock);
	return read;
}

static struct timespec ts_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / TURNS_NS),
				  .tv_nsec = (long)(ns % TURNS_NS) };
}

int turns_gettime(clockid_t clock, struct timespec *ts)
{
	uint64_t first = first_of(clock);

	if (!first)
		return REAL(clock_gettime)(clock, ts);
	*ts = ts_of(first * TURNS_NS + read_clock());
	return 0;
}

static struct timespec look_at_clock(clockid_t clock)
{
	uint64_t first = first_of(clock);
	struct timespec ts;

	if (first)
		return ts_of(first * TURNS_NS + clock_look());
	REAL(clock_gettime)(clock, &ts);
	return ts;
}

uint64_t turns_since(clockid_t clock, const struct timespec *abs)
{
	struct timespec ts = look_at_clock(clock);
	int64_t past;

	if (abs->tv_sec > ts.tv_sec)
		return 0;
	past = (int64_t)(ts.tv_sec - abs->tv_sec) * (int64_t)TURNS_NS + ts.tv_nsec - abs->tv_nsec;
	return past > 0 ? (uint64_t)past : 0;
}

uint64_t turns_until(clockid_t clock, const struct timespec *abs)
{
	struct timespec ts = look_at_clock(clock);
	int64_t left;

	if (abs->tv_sec < ts.tv_sec)
		return 0;
	if ((uint64_t)(abs->tv_sec - ts.tv_sec) >= TURNS_MOST_NS / TURNS_NS)
		return OUTSIDE_NEVER;
	left = (int64_t)(abs->tv_sec - ts.tv_sec) * (int64_t)TURNS_NS + abs->tv_nsec - ts.tv_nsec;
	return left > 0 ? (uint64_t)left : 0;
}

uint64_t libdat_outside_ahead(uint64_t now)
{
	uint64_t ahead = 0;

	REAL(pthread_mutex_lock)(&clock_of.lock);
	if (!clock_of.outside && now >= clock_of.now && clock_of.last > clock_of.base + now)
		ahead = clock_of.last - clock_of.base - now;
	REAL(pthread_mutex_unlock)(&clock_of.lock);
	return ahead;
}

uint64_t turns_ahead(void)
{
	return libdat_outside_ahead(turns_now());
}

uint64_t turns_later(uint64_t ns)
{
	return ns == 0 || ns == OUTSIDE_NEVER ? ns : ns + turns_ahead();
}

const struct timespec *turns_real_time(bool ours, clockid_t clock, const struct timespec *abs,
				       struct timespec *room)
{
	uint64_t left;

	if (!ours || !first_of(clock) || (uint64_t)abs->tv_nsec >= TURNS_NS)
		return abs;
	left = turns_until(clock, abs);
	if (left == OUTSIDE_NEVER)
		return abs;
	*room = ts_of(real_now(clock) + left);
	return room;
}

/* ---- calls ---- */

int turns_clock_gettime(clockid_t clock, struct timespec *ts) __asm__("clock_gettime");

/* The code of a clock_gettime that comes before ours: a sanitizer's runtime defines one. */
static struct {
	uintptr_t from, to;
} interceptor;

static void __attribute__((constructor)) look_for_interceptor(void)
{
	void *first = dlsym(RTLD_DEFAULT, "clock_gettime");
	const ElfW(Sym) *symbol = NULL;
	Dl_info info, ours;

	if (!first || !dladdr1(first, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol ||
	    !dladdr(&interceptor, &ours) || info.dli_fbase == ours.dli_fbase)
		return;
	interceptor.from = (uintptr_t)first;
	interceptor.to = interceptor.from + symbol->st_size;
}

/*
 * With an interceptor, calls of the program come from its code, and all others are the runtime's
 * own. The runtime asks for the time with its allocator's lock, which is a futex of its own. If the
 * turn passed then, the next thread would keep it and wait for that lock. So the runtime gets the
 * real clock.
 */
static bool is_runtime(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	return interceptor.to && (at < interceptor.from || at >= interceptor.to);
}

int turns_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (is_runtime(__builtin_return_address(0)))
		return REAL(clock_gettime)(clock, ts);
	if (PROGRAM)
		return turns_gettime(clock, ts);
	if (turns_is_main(__builtin_return_address(0)) && clock != CLOCK_REALTIME)
		__atomic_store_n(&program_read, true, __ATOMIC_RELAXED);
	return REAL(clock_gettime)(clock, ts);
}

int turns_gettimeofday(struct timeval *tv, void *zone) __asm__("gettimeofday");
int turns_gettimeofday(struct timeval *tv, void *zone)
{
	struct timespec ts;
	int result;

	if (!PROGRAM || !tv)
		return REAL(gettimeofday)(tv, zone);
	result = zone ? REAL(gettimeofday)(tv, zone) : 0;
	turns_gettime(CLOCK_REALTIME, &ts);
	*tv = (struct timeval){ .tv_sec = ts.tv_sec, .tv_usec = ts.tv_nsec / 1000 };
	return result;
}

time_t turns_time_of_day(time_t *out) __asm__("time");
time_t turns_time_of_day(time_t *out)
{
	struct timespec ts;

	if (!PROGRAM)
		return REAL(time)(out);
	turns_gettime(CLOCK_REALTIME, &ts);
	if (out)
		*out = ts.tv_sec;
	return ts.tv_sec;
}

int turns_timespec_get(struct timespec *ts, int base) __asm__("timespec_get");
int turns_timespec_get(struct timespec *ts, int base)
{
	if (!PROGRAM || base != TIME_UTC)
		return REAL(timespec_get)(ts, base);
	turns_gettime(CLOCK_REALTIME, ts);
	return base;
}
