/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * meets server PORT | client PORT - two programs that meet by TCP, and then open an adapter each.
 * The server is busy for longer than datsim run waits for one that sleeps; the client tries once.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <dat/udat.h>

#define BUSY_NS 1200000000ull

static void check(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static unsigned long long busy_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (unsigned long long)ts.tv_sec * 1000000000ull + (unsigned long long)ts.tv_nsec;
}

static void serve(const struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	while (busy_ns() < BUSY_NS)
		;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	check(bind(fd, (const struct sockaddr *)at, sizeof(*at)) == 0, "bind");
	check(listen(fd, 1) == 0, "listen");
	check(accept(fd, NULL, NULL) >= 0, "accept");
}

static void open_adapter(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[] = "emu0";
	DAT_IA_HANDLE ia;

	check(dat_ia_open(name, 8, &async, &ia) == DAT_SUCCESS, "dat_ia_open");
	check(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS, "dat_ia_close");
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	if (argc != 3) {
		fputs("usage: meets server PORT | client PORT\n", stderr);
		return 2;
	}
	at.sin_port = htons((unsigned short)atoi(argv[2]));
	if (!strcmp(argv[1], "server"))
		serve(&at);
	else
		check(connect(socket(AF_INET, SOCK_STREAM, 0), (const struct sockaddr *)&at,
			      sizeof(at)) == 0,
		      "connect");
	open_adapter();
	return 0;
}
