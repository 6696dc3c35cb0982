/* SPDX-License-Identifier: BSD-3-Clause */
/* module.c - find the file of the hardware backend, dlopen it, and get its table of functions. */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "module.h"
#include "nic_process.h"
#include "say.h"

#define MODULE_FILE "libdat/passthrough.so"

#ifndef MODULE_LIBDIR
#define MODULE_LIBDIR "/usr/lib"
#endif

/* The module next to the file that contains this code. */
static bool module_beside_library(char *path, size_t size)
{
	char file[PATH_MAX];
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)&module_load, &info) || !realpath(info.dli_fname, file))
		return false;
	return (size_t)snprintf(path, size, "%s/" MODULE_FILE, dirname(file)) < size &&
	       access(path, F_OK) == 0;
}

static const char *module_path(char *path, size_t size)
{
	const char *wanted = process_env("DAT_HW_MODULE");

	if (wanted)
		return wanted;
	/* The library's file may be the program's, whose name the caller chose. */
	if (process_believes_caller() && module_beside_library(path, size))
		return path;
	return MODULE_LIBDIR "/" MODULE_FILE;
}

const struct nic_backend *module_load(const char *asked, const struct nic_host *host)
{
	const struct nic_backend *kind = NULL;
	char buffer[PATH_MAX];
	const char *path = module_path(buffer, sizeof(buffer));
	nic_module_entry entry;
	void *dl, *symbol;

	dl = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!dl) {
		say("%s: the hardware passthrough cannot be loaded: %s (is libdat built with "
		    "--enable-passthrough and installed, or DAT_HW_MODULE set to its path?)",
		    asked, dlerror());
		return NULL;
	}
	symbol = dlsym(dl, NIC_MODULE_ENTRY);
	if (symbol) {
		memcpy(&entry, &symbol, sizeof(entry));
		kind = entry(host);
	} else {
		say("%s: %s belongs to another version of libdat: it has no %s; install both from "
		    "one build",
		    asked, path, NIC_MODULE_ENTRY);
	}
	if (!kind)
		dlclose(dl);
	return kind;
}
