/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which verbs device scripts run on: writes a dat.conf in memory that maps emu0, emu1 ... to
 * devices.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <dat/udat.h>

#include "tools/datsim/commands.h"
#include "device.h"

#define ADAPTERS 4 /* the most that a script can have */

static char *chosen;

const char *device_names(void)
{
	return chosen;
}

/* The name of the first adapter that the library lists; false: it lists none. */
static bool first_listed(char *name, size_t size)
{
	DAT_PROVIDER_INFO *list, **pointers;
	DAT_COUNT i, n = 0;

	(void)dat_registry_list_providers(0, &n, NULL); /* fails, and tells how many there are */
	if (n < 1)
		return false;
	list = mem_zero((size_t)n, sizeof(*list));
	pointers = mem_zero((size_t)n, sizeof(DAT_PROVIDER_INFO *));
	for (i = 0; i < n; i++)
		pointers[i] = &list[i];
	if (dat_registry_list_providers(n, &n, pointers) != DAT_SUCCESS)
		n = 0;
	if (n > 0)
		snprintf(name, size, "%s", list[0].ia_name);
	free(pointers);
	free(list);
	return n > 0;
}

static void map_adapter(FILE *conf, int number, const char *name, size_t length)
{
	fprintf(conf, "emu%d u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 \"%.*s\" \"\"\n",
		number, (int)length, name);
}

/*
 * A dat.conf in memory: emu0 is the first device; every other adapter is the second device, or the
 * first if there is only one.
 */
static bool write_conf(const char *devices)
{
	const char *comma = strchr(devices, ',');
	const char *second = comma ? comma + 1 : devices;
	size_t first_length = comma ? (size_t)(comma - devices) : strlen(devices);
	char path[64];
	int fd, number;
	FILE *conf;

	if (!first_length || !*second || strchr(second, ',') != (comma ? NULL : comma) ||
	    strpbrk(devices, "\"\\\n "))
		return false;
	fd = memfd_create("dat.conf", 0);
	conf = fd < 0 ? NULL : fdopen(dup(fd), "w");
	if (!conf)
		return false;
	map_adapter(conf, 0, devices, first_length);
	for (number = 1; number < ADAPTERS; number++)
		map_adapter(conf, number, second, strlen(second));
	fclose(conf);
	/* Child processes inherit the descriptor, so the path is good for them too. */
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	setenv("DAT_OVERRIDE", path, 1);
	free(chosen);
	chosen = strdup(devices);
	return true;
}

bool device_choose(const char *command, const char *devices)
{
	char first[DAT_NAME_MAX_LENGTH];

	if (!on_device()) {
		if (!devices)
			return true;
		usage_error(command, "--device needs --provider hw");
		return false;
	}
	if (!devices && first_listed(first, sizeof(first)))
		devices = first;
	if (!devices || write_conf(devices))
		return true;
	usage_error(command, "--device takes one name or two (rxe0, or rxe0,rxe1), not \"%s\"",
		    devices);
	return false;
}

bool emu_is_chosen(const char *command, const char *what)
{
	const char *provider = getenv("DAT_PROVIDER");

	if (!provider || !strcmp(provider, "emu"))
		return true;
	usage_error(command, "DAT_PROVIDER=%s: %s on emu: unset it", provider, what);
	return false;
}
