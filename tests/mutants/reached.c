/*
 * Which code a test runs: a byte for each address that gcc's -fsanitize-coverage=trace-pc reports,
 * in a file that all processes of the test map, so that nothing is lost when one is killed. run.sh
 * links it into every module; reached.pl reads the files.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

extern const char __ehdr_start[] HIDDEN, _end[] HIDDEN;

static unsigned char *reached;

HIDDEN void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void)
{
	if (reached)
		reached[(const char *)__builtin_return_address(0) - __ehdr_start] = 1;
}

/* The modules that are changed; what tests consist of is of no interest. */
static const char *module_name(void)
{
	static const char *const names[] = { "libdat_core.so", "libdatsim.so", "passthrough.so",
					     "libibverbs.so",  "librdmacm.so", "libdat-turns.so",
					     "libdat-files.so" };
	Dl_info info;

	if (!dladdr(__ehdr_start, &info) || !info.dli_fname)
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strstr(info.dli_fname, names[i]))
			return names[i];
	return NULL;
}

__attribute__((constructor(101))) static void map_file(void)
{
	size_t size = (size_t)(_end - __ehdr_start);
	const char *folder = getenv("MUTANTS_REACHED");
	const char *name;
	char path[4096];
	void *map;
	int fd;

	if (!folder)
		return;
	name = module_name();
	if (!name || snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	if (ftruncate(fd, (off_t)size) == 0) {
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map != MAP_FAILED)
			reached = map;
	}
	close(fd);
}
