/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * meet server THREADS | meet client HOST ROUNDS - programs that meet by TCP before they open an
 * adapter, as many do: the server hands its port over in the file "port", accepts THREADS clients
 * by epoll in as many threads, and answers them by TCP; both ends open an adapter at the end and
 * look at its attributes. What they print has ids of processes and threads, random bytes, the name
 * of a folder, the date and ports.
 *
 * meet loopback ROUNDS: what was sent can be read when the call has returned, by each way in which
 * programs meet. libdat-turns.so is built on that.
 */
#include <arpa/inet.h>
#include <dat/udat.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES       64
#define THREADS_MAX 16

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "meet: %s\n", what);
	exit(1);
}

static struct sockaddr_in address_of(const char *host, int port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	check(inet_pton(AF_INET, host, &addr.sin_addr) == 1, "an address is expected");
	return addr;
}

static int port_of(int fd, bool peer)
{
	struct sockaddr_in addr;
	socklen_t size = sizeof(addr);

	check((peer ? getpeername : getsockname)(fd, (struct sockaddr *)&addr, &size) == 0,
	      "a socket has no address");
	return ntohs(addr.sin_port);
}

static int listen_anywhere(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	check(listen(fd, THREADS_MAX) == 0, "listen failed");
	return fd;
}

static void open_adapter(void)
{
	char name[] = "emu0";
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	check(dat_ia_open(name, 8, &async, &ia) == DAT_SUCCESS, "dat_ia_open failed");
	check(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) == DAT_SUCCESS, "dat_ia_close failed");
}

/* ---- the server ---- */

static int listener, epoll;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int left; /* clients that have not ended */

static void accept_one(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT };
	int fd = accept(listener, NULL, NULL);

	check(fd >= 0, "accept failed");
	event.data.fd = fd;
	check(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl failed");
	event = (struct epoll_event){ .events = EPOLLIN | EPOLLONESHOT, .data.fd = listener };
	check(epoll_ctl(epoll, EPOLL_CTL_MOD, listener, &event) == 0, "epoll_ctl failed");
}

/* The end of the last client ends all threads: the descriptor stays readable. */
static void answer_one(int fd, int number)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.fd = fd };
	char bytes[BYTES];

	if (recv(fd, bytes, sizeof(bytes), MSG_WAITALL) == BYTES) {
		bytes[0] = (char)('a' + number);
		check(send(fd, bytes, sizeof(bytes), 0) == BYTES, "send failed");
	} else {
		pthread_mutex_lock(&lock);
		if (--left == 0)
			event.events = EPOLLIN;
		pthread_mutex_unlock(&lock);
		if (left > 0) {
			close(fd);
			return;
		}
	}
	check(epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0, "epoll_ctl failed");
}

static pid_t ids[THREADS_MAX];

static void *serve(void *arg)
{
	int number = (int)(intptr_t)arg, answers = 0;
	struct epoll_event event;

	ids[number] = gettid();
	while (left > 0) {
		check(epoll_wait(epoll, &event, 1, -1) == 1, "epoll_wait failed");
		if (event.data.fd == listener)
			accept_one();
		else if (left > 0)
			answer_one(event.data.fd, number);
		answers++;
	}
	return (void *)(intptr_t)answers;
}

static void run_server(int threads)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT };
	pthread_t thread[THREADS_MAX];
	FILE *file;
	void *answers;

	check(threads >= 1 && threads <= THREADS_MAX, "1 to 16 threads");
	listener = event.data.fd = listen_anywhere();
	epoll = epoll_create1(0);
	check(epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) == 0, "epoll_ctl failed");
	file = fopen("port.new", "w");
	check(file && fprintf(file, "%d\n", port_of(listener, false)) > 0 && fclose(file) == 0 &&
		      rename("port.new", "port") == 0,
	      "the port cannot be handed over");
	left = threads;
	for (int i = 0; i < threads; i++)
		check(pthread_create(&thread[i], NULL, serve, (void *)(intptr_t)i) == 0,
		      "pthread_create failed");
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], &answers);
		printf("thread %d woke %d times as %d\n", i, (int)(intptr_t)answers, ids[i]);
	}
	open_adapter();
}

/* ---- a client, which has a child ---- */

static int handed_over(void)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	FILE *file;
	int port;

	while (!(file = fopen("port", "r")))
		nanosleep(&nap, NULL);
	check(fscanf(file, "%d", &port) == 1, "no port was handed over");
	fclose(file);
	return port;
}

/* Newer than the oldest libc, whose <stdlib.h> does not declare them */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
uint32_t arc4random(void) __attribute__((weak));
uint32_t arc4random_uniform(uint32_t below) __attribute__((weak));
#pragma GCC diagnostic pop

/* The numbers of arc4random, as text */
static void draw(char *text, size_t size)
{
	check(!arc4random || arc4random() != arc4random(), "arc4random repeats itself");
	snprintf(text, size, "%08x %u", arc4random ? arc4random() : 0,
		 arc4random_uniform ? arc4random_uniform(1000000007) : 0);
}

static void run_client(const char *host, int rounds)
{
	struct sockaddr_in addr = address_of(host, handed_over());
	char bytes[BYTES] = "", line[20] = "", folder[] = "meet-XXXXXX", drawn[32];
	int fd = socket(AF_INET, SOCK_STREAM, 0), status;
	pid_t child;

	check(connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0, "connect failed");
	for (int i = 0; i < rounds; i++) {
		/* In two parts: without TCP_NODELAY the socket would hold back the second. */
		check(send(fd, bytes, 8, 0) == 8 && send(fd, bytes, BYTES - 8, 0) == BYTES - 8 &&
			      recv(fd, bytes, BYTES, MSG_WAITALL) == BYTES,
		      "a round failed");
		line[i % (int)(sizeof(line) - 1)] = bytes[0];
	}
	fflush(stdout);
	child = fork();
	if (child == 0) {
		usleep(10);
		_exit(7);
	}
	check(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "waitpid failed");
	check(getrandom(bytes, 4, 0) == 4, "getrandom failed");
	check(mkdtemp(folder) && rmdir(folder) == 0, "mkdtemp failed");
	draw(drawn, sizeof(drawn));
	printf("%d, child %d, %s, port %d to %d, random %02x%02x %s, at %ld, answered by %s\n",
	       getpid(), child, folder, port_of(fd, false), port_of(fd, true),
	       (unsigned char)bytes[0], (unsigned char)bytes[1], drawn, (long)time(NULL), line);
	open_adapter();
}

/* ---- loopback ---- */

static void check_ready(int fd, const char *what)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	check(poll(&pfd, 1, 0) == 1, what);
}

static void say_both_ways(int a, int b)
{
	char bytes[BYTES] = "";

	for (int i = 0; i < 20; i++) {
		check(write(a, bytes, BYTES) == BYTES, "write failed");
		check_ready(b, "what was written cannot be read");
		check(read(b, bytes, BYTES) == BYTES, "read failed");
	}
	check(write(b, bytes, 1) == 1, "write failed");
	check_ready(a, "what was written cannot be read on the way back");
	check(read(a, bytes, 1) == 1, "read failed");
	check(close(a) == 0, "close failed");
	check_ready(b, "the end of the stream cannot be read");
	close(b);
}

static void run_loopback(int rounds)
{
	int server = listen_anywhere(), a, b, on = 1, pair[2];
	struct sockaddr_in addr = address_of("127.0.0.1", port_of(server, false));

	for (int i = 0; i < rounds; i++) {
		a = socket(AF_INET, SOCK_STREAM, 0);
		check(connect(a, (struct sockaddr *)&addr, sizeof(addr)) == 0, "connect failed");
		check_ready(server, "what was connected cannot be accepted");
		b = accept(server, NULL, NULL);
		check(setsockopt(a, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0 &&
			      setsockopt(b, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0,
		      "setsockopt failed");
		say_both_ways(a, b);
		check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair failed");
		say_both_ways(pair[0], pair[1]);
	}
	puts("all of it");
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "server"))
		run_server(atoi(argv[2]));
	else if (argc == 4 && !strcmp(argv[1], "client"))
		run_client(argv[2], atoi(argv[3]));
	else if (argc == 3 && !strcmp(argv[1], "loopback"))
		run_loopback(atoi(argv[2]));
	else
		check(false, "meet server THREADS | client HOST ROUNDS | loopback ROUNDS");
	return 0;
}
