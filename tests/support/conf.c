/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/conf.h"

static char path[64];
static int fd = -1;
static FILE *said_file;
static int stderr_copy = -1;
static char *said_text;

void conf_name(const char *name)
{
	ck_assert_int_eq(setenv("DAT_OVERRIDE", name, 1), 0);
}

const char *conf_path(void)
{
	return path;
}

void conf_clear(void)
{
	if (fd >= 0)
		close(fd);
	fd = -1;
	conf_name("/dev/null");
}

/* The file is unlinked now, so nothing is left of it however the test ends. */
void conf_write(const void *bytes, size_t length)
{
	conf_clear();
	fd = memfd_create("dat.conf", MFD_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, length), (ssize_t)length);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	conf_name(path);
}

void conf_text(const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	ck_assert_int_ge(length, 0);
	conf_write(text, (size_t)length);
	free(text);
}

void said_start(void)
{
	fflush(stderr);
	said_file = tmpfile();
	ck_assert_ptr_nonnull(said_file);
	stderr_copy = dup(STDERR_FILENO);
	ck_assert_int_ge(stderr_copy, 0);
	ck_assert_int_ge(dup2(fileno(said_file), STDERR_FILENO), 0);
}

const char *said_stop(void)
{
	long length;

	fflush(stderr);
	dup2(stderr_copy, STDERR_FILENO);
	close(stderr_copy);
	fseek(said_file, 0, SEEK_END);
	length = ftell(said_file);
	rewind(said_file);
	free(said_text);
	said_text = calloc(1, (size_t)length + 1);
	ck_assert_ptr_nonnull(said_text);
	ck_assert_uint_eq(fread(said_text, 1, (size_t)length, said_file), (size_t)length);
	fclose(said_file);
	return said_text;
}

DAT_RETURN open_and_close(const char *name, const char **said)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	char copy[DAT_NAME_MAX_LENGTH];
	DAT_IA_HANDLE ia = NO_HANDLE;
	DAT_RETURN ret;

	snprintf(copy, sizeof(copy), "%s", name);
	said_start();
	ret = dat_ia_open(copy, 8, &async, &ia);
	*said = said_stop();
	if (ret == DAT_SUCCESS)
		must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	return ret;
}
