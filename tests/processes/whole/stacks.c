/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stacks clean | stacks fault - a program with threads and a child, which
 * sanitized.sh builds with and without AddressSanitizer.
 *
 * With STACKS_MARKED in the environment, a thread that ends before main has told AddressSanitizer
 * that its whole stack is not to be touched. The next thread of the process, which is the helper of
 * the library, gets that stack.
 * fault: a thread reads behind an array on its stack.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3

static void check(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "stacks: %s\n", what);
	exit(1);
}

/* ---- a stack with marks ---- */

static void (*mark)(const volatile void *from, size_t size);

static void *mark_stack(void *arg)
{
	char *here = __builtin_frame_address(0), *lowest;
	pthread_attr_t attr;
	void *stack;
	size_t size;

	check(pthread_getattr_np(pthread_self(), &attr) == 0 &&
		      pthread_attr_getstack(&attr, &stack, &size) == 0,
	      "the stack is not known");
	pthread_attr_destroy(&attr);
	lowest = stack;
	mark(lowest, (size_t)(here - lowest));
	return arg;
}

static void __attribute__((constructor)) leave_marked_stack(void)
{
	void *library = getenv("STACKS_MARKED") ? dlopen("libibverbs.so.1", RTLD_NOW) : NULL;
	pthread_t thread;

	if (!library)
		return;
	*(void **)&mark = dlsym(library, "__asan_poison_memory_region");
	check(mark != NULL, "the library was built without AddressSanitizer");
	check(pthread_create(&thread, NULL, mark_stack, NULL) == 0, "pthread_create failed");
	pthread_join(thread, NULL);
}

/* ---- threads and a child ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int turn;

static void *take_turns(void *arg)
{
	volatile char line[32];
	int me = (int)(intptr_t)arg;

	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&lock);
		line[i] = (char)('0' + turn++ % 10);
		pthread_mutex_unlock(&lock);
		usleep(1);
	}
	line[5] = '\0';
	printf("%d: %s\n", me, (const char *)line);
	return arg;
}

/* Strings that AddressSanitizer has red zones around. */
static void say_time(void)
{
	struct timespec now;

	check(clock_gettime(CLOCK_MONOTONIC, &now) == 0, "there is no monotonic clock");
	printf("the clock says %lld s\n", (long long)now.tv_sec);
}

static void run_threads(void)
{
	pthread_t thread[THREADS];

	say_time();
	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&thread[i], NULL, take_turns, (void *)(intptr_t)i) == 0,
		      "pthread_create failed");
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	fflush(stdout);
}

static void *read_behind(void *arg)
{
	volatile char bytes[16] = "";
	volatile int behind = sizeof(bytes);

	return bytes[behind] ? arg : NULL;
}

/* datsim run wants an object made. */
static void make_object(void)
{
	void *library = dlopen("libibverbs.so.1", RTLD_NOW), *device, *pd, **list;
	void **(*get_list)(int *), (*free_list)(void **), *(*open)(void *), *(*alloc)(void *);
	int (*dealloc)(void *), (*close)(void *);

	check(library != NULL, "there is no libibverbs");
	*(void **)&get_list = dlsym(library, "ibv_get_device_list");
	*(void **)&free_list = dlsym(library, "ibv_free_device_list");
	*(void **)&open = dlsym(library, "ibv_open_device");
	*(void **)&alloc = dlsym(library, "ibv_alloc_pd");
	*(void **)&dealloc = dlsym(library, "ibv_dealloc_pd");
	*(void **)&close = dlsym(library, "ibv_close_device");
	list = get_list(NULL);
	device = list && list[0] ? open(list[0]) : NULL;
	pd = device ? alloc(device) : NULL;
	check(pd && dealloc(pd) == 0 && close(device) == 0, "no object can be made");
	free_list(list);
}

int main(int argc, char **argv)
{
	int fault = argc == 2 && strcmp(argv[1], "fault") == 0, status;
	pthread_t thread;
	pid_t child;

	if (argc == 2)
		make_object();
	run_threads();
	child = fork();
	if (child == 0) {
		run_threads();
		_exit(7);
	}
	check(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "the child failed");
	if (!fault)
		return 0;
	check(pthread_create(&thread, NULL, read_behind, NULL) == 0, "pthread_create failed");
	pthread_join(thread, NULL);
	return 0;
}
