/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "hang.h"

#define IDLE_SECONDS 60
#define IDLE_COLUMN  4 /* of the first line of /proc/stat, behind its name */

static const char *is_about;
static struct idle since;

/* All processors together; 0: unknown. A handler calls this, so it uses no stdio. */
static unsigned long idle_ticks(void)
{
	char line[256] = "", *at = line + strlen("cpu");
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	unsigned long ticks = 0;

	if (fd >= 0)
		close(fd);
	for (int i = 0; got > 0 && i < IDLE_COLUMN; i++)
		ticks = strtoul(at, &at, 10);
	return ticks;
}

/* Called once a second. Several that pass in one count as one: the machine may stand still. */
bool hang_counts(struct idle *idle)
{
	unsigned long now = idle_ticks(), before = idle->ticks;

	idle->ticks = now;
	if (before && now > before)
		idle->seconds += now - before >= (unsigned long)sysconf(_SC_CLK_TCK) / 2;
	return idle->seconds >= IDLE_SECONDS;
}

static void say(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		_exit(1);
}

static void look(int signal_number)
{
	int kept = errno;

	(void)signal_number;
	if (hang_counts(&since)) {
		say("# ");
		say(is_about);
		say(": nothing goes on\n");
		_exit(1);
	}
	errno = kept;
}

void hang_begin(const char *what)
{
	const struct itimerval second = { .it_interval.tv_sec = 1, .it_value.tv_sec = 1 };
	struct sigaction action = { .sa_handler = look, .sa_flags = SA_RESTART };

	is_about = what;
	since = (struct idle){ 0 };
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &second, NULL);
}
