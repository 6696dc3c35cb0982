/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datsim info: lists the adapters, the size of a fabric, the limits of the first adapter, and every
 * knob with its value.
 */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat/sim.h>

#include "tools/datsim/script/values.h"

static unsigned long long knob_value(const DAT_SIM_CONFIG *config, size_t i)
{
	const unsigned long long values[] = {
		config->profile,        config->seed,  config->latency_ns,
		config->bandwidth_bps,  config->mtu,   config->rnr_retry,
		config->rnr_timer_ns,   config->retry, config->retry_timer_ns,
		config->poll_quantum_ns
	};

	return values[i];
}

static const struct {
	const char *name;
	const char *help;
} knobs[] = {
	{ "DATSIM_PROFILE", "ib: in order, RNR; iwarp: messages overtake, no RNR" },
	{ "DATSIM_SEED", "seed of the fabric's generator" },
	{ "DATSIM_LATENCY_NS", "latency of every link, one way, nanoseconds" },
	{ "DATSIM_BANDWIDTH_BPS",
	  "bandwidth of every link, bits per second, from 1000000; 0: no limit" },
	{ "DATSIM_MTU", "payload bytes of a packet, 256..65536" },
	{ "DATSIM_RNR_RETRY", "RNR retries of a packet, 0..7; 7: no limit" },
	{ "DATSIM_RNR_TIMER_NS", "pause before each RNR retry, nanoseconds" },
	{ "DATSIM_RETRY", "retransmissions of an unacknowledged packet, 0..7" },
	{ "DATSIM_RETRY_TIMER_NS", "time until a retransmission, nanoseconds" },
	{ "DATSIM_POLL_QUANTUM_NS",
	  "time that a poll that finds nothing may let pass, nanoseconds" },
};

/* Knobs whose value is printed as it stands in the environment. */
struct text_knob {
	const char *name, *usual, *help;
};

static const struct text_knob hardware[] = {
	{ "DAT_HW_RNR_RETRY", "7", "hw: 0..7, as DATSIM_RNR_RETRY; 7: no limit" },
	{ "DAT_HW_PORT_DOWN", "retry",
	  "hw: retry; break: a link that is down breaks its connections at once" },
	{ "DAT_HW_COMP_VECTOR", "in turn", "hw: the completion vector of every EVD" },
	{ "DAT_HW_TOS", "the kernel's", "hw: type of service of connections, 0..255" },
	{ "DAT_HW_ACK_TIMEOUT", "from the path",
	  "hw: 0..31; n: send again after 4.096 us times 2^n; 0: never" },
};

/* Of fabrics that several processes share. */
static const struct text_knob shared[] = {
	{ "DATSIM_FABRIC", "-", "join the fabric of that name, shared by several processes" },
	{ "DATSIM_ADDRESSES", "198.18.0.0/16", "the network of the adapters" },
	{ "DATSIM_NODE", "-", "name of this process on that fabric" },
	{ "DATSIM_COPY", "direct",
	  "direct: copy into the other process; bounce: through the arena" },
	{ "DATSIM_LOCK_MS", "30000", "ms to wait for a stopped process that locks the fabric" },
	{ "DATSIM_LOCKSTEP", "-",
	  "make it in lockstep; preempt a thread that blocks outside uDAPL for so many ms" },
	{ "DATSIM_TURNS", "seed", "in lockstep: the order of turns, and switches of the turn" },
};

static const struct text_knob verbs[] = {
	{ "DATSIM_LINK_LAYER", "infiniband", "libibverbs: of the ports; or ethernet" },
	{ "DATSIM_VERBS_NAME", "emu", "libibverbs: of devices, without their number" },
	{ "DATSIM_VERBS", "-", "libibverbs: emu: its devices are those of DAT_PROVIDER=hw" },
};

static void print_texts(const struct text_knob *texts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *value = getenv(texts[i].name);

		printf("  %-23s %15.15s  %s\n", texts[i].name, value ? value : texts[i].usual,
		       texts[i].help);
	}
}

/* `script`: is DATSIM_SCRIPT set? */
static int print_knobs(bool script)
{
	DAT_SIM_CONFIG config;
	const char *trace = getenv("DATSIM_TRACE"), *backend = getenv("DAT_PROVIDER");
	const char *faults = getenv("DATSIM_FAULTS"), *stuck = getenv("DATSIM_STUCK");
	const char *bytes = getenv("DATSIM_TRACE_BYTES"), *last = getenv("DATSIM_TRACE_LAST");
	const char *hostile = getenv("DATSIM_HOSTILE");
	char value[24];
	size_t i;

	if (dat_sim_config_init(&config) != DAT_SUCCESS)
		return EXIT_USAGE; /* the library named the bad one on stderr */
	puts("\nknobs (environment)                   now  what it is");
	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		snprintf(value, sizeof(value), "%llu", knob_value(&config, i));
		if (i == 0)
			strcpy(value, config.profile == DAT_SIM_PROFILE_IWARP ? "iwarp" : "ib");
		printf("  %-23s %15s  %s\n", knobs[i].name, value, knobs[i].help);
	}
	printf("  %-23s %15s  %s\n", "DAT_PROVIDER", backend ? backend : "emu",
	       "emu; hw: verbs devices");
	printf("  %-23s %15s  %s\n", "DAT_HW_MODULE", getenv("DAT_HW_MODULE") ? "set" : "-",
	       "hw: the module, in place of the installed one");
	print_texts(hardware, ARRAY_SIZE(hardware));
	printf("  %-23s %15s  %s\n", "DAT_OVERRIDE", getenv("DAT_OVERRIDE") ? "set" : "-",
	       "the dat.conf, in place of /etc/dat.conf");
	printf("  %-23s %15s  %s\n", "DATSIM_TRACE", trace ? "set" : "-",
	       "file for the trace, written when the fabric ends");
	printf("  %-23s %15s  %s\n", "DATSIM_TRACE_BYTES", bytes ? bytes : "268435456",
	       "length at which the trace is full, 65536..268435456");
	printf("  %-23s %15s  %s\n", "DATSIM_TRACE_LAST", last ? last : "-",
	       "keep the end of the trace: so many bytes of it, 65536..16777216");
	printf("  %-23s %15s  %s\n", "DATSIM_STUCK", stuck ? stuck : "wait",
	       "wait: a wait for an event that cannot come blocks, until a signal; or abort");
	printf("  %-23s %15s  %s\n", "DATSIM_FAULTS", faults ? "set" : "-",
	       "faults, as `datsim run --script` passes them to a program");
	printf("  %-23s %15s  %s\n", "DATSIM_SCRIPT", script ? "set" : "-",
	       "datsim run: the script of faults, where --script names none");
	printf("  %-23s %15s  %s\n", "DATSIM_HOSTILE", hostile ? "set" : "-",
	       "as unkind as devices may be: watch=posted,poison=on,...; or all");
	print_texts(shared, ARRAY_SIZE(shared));
	print_texts(verbs, ARRAY_SIZE(verbs));
	return EXIT_PASS;
}

/* Bits that the manual pages write in hexadecimal: srq_watermarks_supported and the like. */
static bool is_mask(const struct member *member)
{
	static const char end[] = "_supported";
	size_t n = strlen(member->name);

	return member->group == GROUP_NONE && n >= sizeof(end) &&
	       !strcmp(member->name + n - (sizeof(end) - 1), end);
}

static void print_members(const struct layout *layout, const void *base)
{
	const struct member *member;
	struct text text = { 0 };

	for (member = layout->members; member->name; member++) {
		if (member->kind != MEMBER_NUMBER)
			continue;
		text.length = 0;
		if (is_mask(member))
			text_add(&text, "0x%llx", (unsigned long long)member_get(member, base));
		else
			group_print(&text, member->group, member_get(member, base),
				    member->is_signed, member->size);
		printf("  %-35s %s\n", member->name, text_of(&text));
	}
	text_free(&text);
}

/* Of a simulated fabric: libdat(3). No call tells these. */
static void print_fabric(void)
{
	static const struct {
		const char *name, *private, *shared;
	} sizes[] = {
		{ "processes", "1", "64" },
		{ "adapters", "4096", "1024" },
		{ "Endpoints", "262144", "262144" },
		{ "links in use", "1048576", "1048576" },
		{ "pending events", "4194304", "4194304" },
	};

	printf("\n  %-33s %12s %12s\n", "size of a fabric", "one process", "shared");
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		printf("  %-33s %12s %12s\n", sizes[i].name, sizes[i].private, sizes[i].shared);
}

static int print_limits(const char *adapter)
{
	unsigned char
		provider[sizeof(DAT_PROVIDER_ATTR)]; /* bytes: the structure has const members */
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	const char *backend = "?";
	DAT_IA_ATTR attr;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	ret = dat_ia_open((DAT_NAME_PTR)adapter, 8, &async, &ia);
	if (ret != DAT_SUCCESS) {
		printf("%s cannot be opened: 0x%08x\n", adapter, (unsigned int)ret);
		/* A variable, which the library named on stderr. */
		return DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER ? EXIT_USAGE : EXIT_INTERNAL;
	}
	dat_sim_backend(ia, &backend);
	ret = dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL,
			   (DAT_PROVIDER_ATTR *)(void *)provider);
	if (ret == DAT_SUCCESS) {
		if (strcmp(backend, "emu") == 0)
			print_fabric();
		printf("\nlimits of %s (backend %s)\n", adapter, backend);
		print_members(&layout_ia_attr, &attr);
		print_members(&layout_provider_attr, provider);
	}
	dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
	return ret == DAT_SUCCESS ? EXIT_PASS : EXIT_INTERNAL;
}

/* The dat.conf, from which further adapter names come. */
static void print_dat_conf(void)
{
	DAT_COUNT adapters, skipped;
	const char *path;

	if (dat_sim_dat_conf(&path, &adapters, &skipped) != DAT_SUCCESS)
		return; /* the listing has reported the error */
	if (!path)
		puts("  (no dat.conf)");
	else
		printf("  (dat.conf: %s, adapters %d, lines skipped %d)\n", path, adapters,
		       skipped);
}

static void print_names(const DAT_PROVIDER_INFO *infos, int n)
{
	int i;

	puts("adapters");
	print_dat_conf();
	for (i = 0; i < n; i++)
		printf("  %-20s uDAPL %u.%u%s\n", infos[i].ia_name,
		       (unsigned int)infos[i].dapl_version_major,
		       (unsigned int)infos[i].dapl_version_minor,
		       infos[i].is_thread_safe ? ", thread safe" : "");
}

static int print_adapters(void)
{
	DAT_PROVIDER_INFO *infos, **list;
	DAT_COUNT n = 0, i;
	DAT_RETURN ret;
	int code = EXIT_PASS;

	/* It fails, and tells how many there are, or names a variable that makes no sense. */
	ret = dat_registry_list_providers(0, &n, NULL);
	if (DAT_GET_TYPE(ret) == DAT_INTERNAL_ERROR) {
		fputs("datsim info: no adapter can be listed\n", stderr);
		return EXIT_USAGE;
	}
	infos = mem_zero((size_t)n + 1, sizeof(*infos));
	list = mem_zero((size_t)n + 1, sizeof(*list));
	for (i = 0; i < n; i++)
		list[i] = &infos[i];
	ret = dat_registry_list_providers(n, &n, list);
	if (ret != DAT_SUCCESS) {
		fprintf(stderr, "datsim info: no registry: 0x%08x\n", (unsigned int)ret);
		code = EXIT_INTERNAL;
	} else {
		print_names(infos, n);
		if (n > 0)
			code = print_limits(infos[0].ia_name);
		else
			code = EXIT_FAILED;
		if (!n)
			fputs("datsim info: there is no adapter\n", stderr);
	}
	free(infos);
	free(list);
	return code;
}

static int run_command(char **argv)
{
	struct operands none;
	bool script = getenv("DATSIM_SCRIPT") != NULL;
	int code, knobs_code;

	if (!options_read(&command_info, argv, NULL, &none))
		return none.code;
	unsetenv("DATSIM_SCRIPT"); /* only datsim run takes it: no adapter opens with it */
	code = print_adapters();
	knobs_code = print_knobs(script);
	return code ? code : knobs_code;
}

const struct command command_info = {
	.name = "info",
	.summary = "list adapters, their limits and every knob",
	.about = about_info,
	.run = run_command,
};
