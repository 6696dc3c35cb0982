/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_stdio.c - streams of libc on sockets and pipes, of a program in lockstep. libc reads and
 * writes them inside itself, so a call that reads waits here whenever its buffer is empty, and one
 * that may have written tells the others. fscanf waits once, for its first byte.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "turns.h"

#define IS_IN_ERROR 0x20 /* libc's flag for ferror */

/* ---- in ---- */

static size_t bytes_buffered(const FILE *file)
{
	return (size_t)(file->_IO_read_end - file->_IO_read_ptr);
}

/* False: its time is over (SO_RCVTIMEO), or a handler has run. */
static bool await_stream(FILE *file)
{
	int fd = bytes_buffered(file) ? -1 : fileno_unlocked(file);

	if (fd < 0 || turns_await_in(fd))
		return true;
	file->_flags |= IS_IN_ERROR;
	return false;
}

/* Is it a stream of random numbers whose buffer is empty? */
static bool gives_random(FILE *file)
{
	return !bytes_buffered(file) && fileno_unlocked(file) >= 0 && __freadable(file) &&
	       turns_is_random(fileno_unlocked(file));
}

static int get_byte(FILE *file)
{
	uint8_t byte;

	if (!await_stream(file))
		return EOF;
	if (!gives_random(file))
		return REAL(fgetc)(file);
	turns_random(&byte, sizeof(byte));
	return byte;
}

int turns_fgetc(FILE *file) __asm__("fgetc");
int turns_fgetc(FILE *file)
{
	return PROGRAM ? get_byte(file) : REAL(fgetc)(file);
}

int turns_getc(FILE *file) __asm__("getc");
int turns_getc(FILE *file)
{
	return PROGRAM ? get_byte(file) : REAL(fgetc)(file);
}

int turns_getchar(void) __asm__("getchar");
int turns_getchar(void)
{
	return PROGRAM ? get_byte(stdin) : REAL(fgetc)(stdin);
}

static char *get_line(char *to, int n, FILE *file)
{
	int length = 0, byte = 0;

	if (n <= 0)
		return NULL;
	while (length < n - 1 && byte != '\n' && (byte = get_byte(file)) != EOF)
		to[length++] = (char)byte;
	if ((length == 0 && n > 1) || (byte == EOF && ferror(file)))
		return NULL;
	to[length] = '\0';
	return to;
}

char *turns_fgets(char *to, int n, FILE *file) __asm__("fgets");
char *turns_fgets(char *to, int n, FILE *file)
{
	return PROGRAM ? get_line(to, n, file) : REAL(fgets)(to, n, file);
}

char *turns_fgets_chk(char *to, size_t room, int n, FILE *file) __asm__("__fgets_chk");
char *turns_fgets_chk(char *to, size_t room, int n, FILE *file)
{
	if (n > 0 && (size_t)n > room)
		__builtin_trap();
	return PROGRAM ? get_line(to, n, file) : REAL(fgets)(to, n, file);
}

static bool grow_line(char **line, size_t *room, size_t wanted)
{
	size_t size = *room < 60 ? 120 : *room * 2;
	char *larger;

	if (*line && wanted <= *room)
		return true;
	larger = realloc(*line, size);
	if (!larger)
		return false;
	*line = larger;
	*room = size;
	return true;
}

static ssize_t get_until(char **line, size_t *room, int end, FILE *file)
{
	size_t length = 0;
	int byte = EOF;

	if (!line || !room) {
		errno = EINVAL;
		return -1;
	}
	if (!*line)
		*room = 0;
	while ((length == 0 || byte != end) && (byte = get_byte(file)) != EOF) {
		if (!grow_line(line, room, length + 2))
			return -1;
		(*line)[length++] = (char)byte;
	}
	if (length == 0)
		return -1;
	(*line)[length] = '\0';
	return (ssize_t)length;
}

ssize_t turns_getdelim(char **line, size_t *room, int end, FILE *file) __asm__("getdelim");
ssize_t turns_getdelim(char **line, size_t *room, int end, FILE *file)
{
	return PROGRAM ? get_until(line, room, end, file) : REAL(getdelim)(line, room, end, file);
}

/* As the headers call it in an optimised program. */
ssize_t turns_getdelim_inline(char **line, size_t *room, int end, FILE *file) __asm__("__getdelim");
ssize_t turns_getdelim_inline(char **line, size_t *room, int end, FILE *file)
{
	return PROGRAM ? get_until(line, room, end, file) : REAL(getdelim)(line, room, end, file);
}

ssize_t turns_getline(char **line, size_t *room, FILE *file) __asm__("getline");
ssize_t turns_getline(char **line, size_t *room, FILE *file)
{
	return PROGRAM ? get_until(line, room, '\n', file) : REAL(getline)(line, room, file);
}

static size_t get_bytes(char *to, size_t n, FILE *file)
{
	size_t done = 0, part;
	int byte;

	while (done < n) {
		part = bytes_buffered(file) < n - done ? bytes_buffered(file) : n - done;
		if (part) {
			done += REAL(fread)(to + done, 1, part, file);
			continue;
		}
		if (gives_random(file)) {
			turns_random(to + done, n - done);
			return n;
		}
		byte = get_byte(file);
		if (byte == EOF)
			break;
		to[done++] = (char)byte;
	}
	return done;
}

size_t turns_fread(void *to, size_t size, size_t n, FILE *file) __asm__("fread");
size_t turns_fread(void *to, size_t size, size_t n, FILE *file)
{
	size_t all;

	if (!PROGRAM || size == 0 || __builtin_mul_overflow(size, n, &all))
		return REAL(fread)(to, size, n, file);
	return get_bytes(to, all, file) / size;
}

int turns_vfscanf(FILE *file, const char *format, va_list args) __asm__("__isoc99_vfscanf");
int turns_vfscanf(FILE *file, const char *format, va_list args)
{
	if (PROGRAM)
		await_stream(file);
	return REAL(vfscanf)(file, format, args);
}

int turns_fscanf(FILE *file, const char *format, ...) __asm__("__isoc99_fscanf");
int turns_fscanf(FILE *file, const char *format, ...)
{
	bool ours = PROGRAM;
	va_list args;
	int n;

	if (ours)
		await_stream(file);
	va_start(args, format);
	n = REAL(vfscanf)(file, format, args);
	va_end(args);
	return n;
}

/* ---- out ---- */

/* Other programs read from sockets and pipes. NULL: all streams. */
static bool is_heard(FILE *file)
{
	struct stat st;
	int before = errno;
	bool heard = !file ||
		     (fileno_unlocked(file) >= 0 && fstat(fileno_unlocked(file), &st) == 0 &&
		      (S_ISSOCK(st.st_mode) || S_ISFIFO(st.st_mode)));

	errno = before;
	return heard;
}

int turns_fflush(FILE *file) __asm__("fflush");
int turns_fflush(FILE *file)
{
	bool tells = PROGRAM && is_heard(file);
	int result = REAL(fflush)(file);

	if (tells)
		turns_tell(true);
	return result;
}

int turns_fclose(FILE *file) __asm__("fclose");
int turns_fclose(FILE *file)
{
	bool ours = PROGRAM, tells = ours && is_heard(file);
	int result;

	if (ours && turns_is_popened(file))
		return turns_end_popened(file);
	if (ours)
		turns_timer_closed(fileno_unlocked(file));
	result = REAL(fclose)(file);
	if (tells)
		turns_tell(true);
	return result;
}

size_t turns_fwrite(const void *from, size_t size, size_t n, FILE *file) __asm__("fwrite");
size_t turns_fwrite(const void *from, size_t size, size_t n, FILE *file)
{
	bool tells = PROGRAM && is_heard(file);
	size_t done = REAL(fwrite)(from, size, n, file);

	if (tells)
		turns_tell(true);
	return done;
}

int turns_fputs(const char *text, FILE *file) __asm__("fputs");
int turns_fputs(const char *text, FILE *file)
{
	bool tells = PROGRAM && is_heard(file);
	int result = REAL(fputs)(text, file);

	if (tells)
		turns_tell(true);
	return result;
}

/* ---- to a descriptor ---- */

static int put_text(const void *caller, int fd, const char *text, int n)
{
	ssize_t part = 1;
	int done = 0;

	while (done < n && part > 0) {
		part = turns_write_by(caller, fd, text + done, (size_t)(n - done));
		done += part > 0 ? (int)part : 0;
	}
	return done == n ? n : -1;
}

/* Of vsnprintf; n: what a first call has returned. */
static int put_long(const void *caller, int fd, int n, const char *format, va_list args)
{
	char *text = malloc((size_t)n + 1);
	int result = -1;

	if (text && vsnprintf(text, (size_t)n + 1, format, args) == n)
		result = put_text(caller, fd, text, n);
	free(text);
	return result;
}

static int print_to(const void *caller, int fd, const char *format, va_list args)
{
	char text[BUFSIZ];
	va_list again;
	int n;

	if (!turns_is_program(caller))
		return REAL(vdprintf)(fd, format, args);
	va_copy(again, args);
	n = vsnprintf(text, sizeof(text), format, args);
	if (n >= (int)sizeof(text))
		n = put_long(caller, fd, n, format, again);
	else if (n > 0)
		n = put_text(caller, fd, text, n);
	va_end(again);
	return n;
}

#define CALLER __builtin_return_address(0)

int turns_vdprintf(int fd, const char *format, va_list args) __asm__("vdprintf");
int turns_vdprintf(int fd, const char *format, va_list args)
{
	return print_to(CALLER, fd, format, args);
}

/* As the headers call them in a fortified program. */
int turns_vdprintf_chk(int fd, int flag, const char *format,
		       va_list args) __asm__("__vdprintf_chk");
int turns_vdprintf_chk(int fd, int flag, const char *format, va_list args)
{
	(void)flag;
	return print_to(CALLER, fd, format, args);
}

int turns_dprintf(int fd, const char *format, ...) __asm__("dprintf");
int turns_dprintf(int fd, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = print_to(CALLER, fd, format, args);
	va_end(args);
	return n;
}

int turns_dprintf_chk(int fd, int flag, const char *format, ...) __asm__("__dprintf_chk");
int turns_dprintf_chk(int fd, int flag, const char *format, ...)
{
	va_list args;
	int n;

	(void)flag;
	va_start(args, format);
	n = print_to(CALLER, fd, format, args);
	va_end(args);
	return n;
}
