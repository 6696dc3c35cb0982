/* SPDX-License-Identifier: BSD-3-Clause */
/* knob.c - read and check the DATSIM_* variables of the environment. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "knob.h"
#include "nic_process.h"
#include "say.h"

#define MTU_MIN        256u
#define MTU_MAX        65536u
#define RNR_RETRY_MAX  7u
#define RETRY_MAX      7u
#define PREEMPT_MS_MAX 3600000u
#define LOCK_MS_MAX    3600000u
#define TIME_MAX       (1ul << 50) /* 13 days of nanoseconds: sums stay far from wrapping */
#define BANDWIDTH_MIN  1000000ul   /* or 0, no limit: slower links would make the clock wrap */
#define BANDWIDTH_MAX  (1ul << 60)
#define TRACE_MIN      65536ul
#define TRACE_MAX      (256ul << 20)
#define LAST_MAX       (16ul << 20) /* as text it fits into TRACE_MAX */
#define PREFIX_MIN     8u
#define PREFIX_MAX     28u

static const struct {
	const char *name;
	size_t offset;
	size_t size;
	uint64_t min, max;
} numbers[] = {
#define NUMBER(env, field, low, high)                                                             \
	{                                                                                         \
		env, offsetof(struct nic_config, field), sizeof(((struct nic_config *)0)->field), \
			low, high                                                                 \
	}
	NUMBER("DATSIM_SEED", seed, 0, UINT64_MAX),
	NUMBER("DATSIM_LATENCY_NS", latency_ns, 0, TIME_MAX),
	NUMBER("DATSIM_BANDWIDTH_BPS", bandwidth_bps, 0, BANDWIDTH_MAX),
	NUMBER("DATSIM_MTU", mtu, MTU_MIN, MTU_MAX),
	NUMBER("DATSIM_RNR_RETRY", rnr_retry, 0, RNR_RETRY_MAX),
	NUMBER("DATSIM_RNR_TIMER_NS", rnr_timer_ns, 0, TIME_MAX),
	NUMBER("DATSIM_RETRY", retry, 0, RETRY_MAX),
	NUMBER("DATSIM_RETRY_TIMER_NS", retry_timer_ns, 1, TIME_MAX),
	NUMBER("DATSIM_POLL_QUANTUM_NS", poll_quantum_ns, 0, TIME_MAX),
	NUMBER("DATSIM_LOCK_MS", lock_ms, 0, LOCK_MS_MAX),
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static uint64_t knob_get(const struct nic_config *config, size_t i)
{
	const char *field = (const char *)config + numbers[i].offset;
	uint32_t small;
	uint64_t large;

	if (numbers[i].size == sizeof(small)) {
		memcpy(&small, field, sizeof(small));
		return small;
	}
	memcpy(&large, field, sizeof(large));
	return large;
}

static void knob_set(struct nic_config *config, size_t i, uint64_t value)
{
	char *field = (char *)config + numbers[i].offset;
	uint32_t small = (uint32_t)value;

	if (numbers[i].size == sizeof(small))
		memcpy(field, &small, sizeof(small));
	else
		memcpy(field, &value, sizeof(value));
}

static bool knob_read_number(struct nic_config *config, size_t i)
{
	const char *text = process_env(numbers[i].name);
	unsigned long long value;
	char *end;

	if (!text)
		return true;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno == ERANGE ||
	    value < numbers[i].min || value > numbers[i].max) {
		say("%s=%.64s: expected a whole number from %lu to %lu", numbers[i].name, text,
		    numbers[i].min, numbers[i].max);
		return false;
	}
	knob_set(config, i, value);
	return true;
}

/* A number of bytes; *bytes stays as it is without the variable. */
static bool knob_read_bytes(const char *name, uint64_t most, uint64_t *bytes)
{
	const char *text = process_env(name);
	unsigned long value;
	char *end;

	if (!text)
		return true;
	value = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || value < TRACE_MIN || value > most) {
		say("%s=%.64s: expected a number of bytes from %lu to %lu", name, text, TRACE_MIN,
		    most);
		return false;
	}
	*bytes = value;
	return true;
}

static bool knob_read_trace(struct nic_config *config)
{
	return knob_read_bytes("DATSIM_TRACE_BYTES", TRACE_MAX, &config->trace_bytes) &&
	       knob_read_bytes("DATSIM_TRACE_LAST", LAST_MAX, &config->trace_last);
}

/* ---- a hostile NIC ---- */

static const struct {
	uint32_t mode;
	const char *word;
} hostile_words[] = {
	{ NIC_HOSTILE_WATCH, "watch=posted" },  { NIC_HOSTILE_POISON, "poison=on" },
	{ NIC_HOSTILE_TAIL, "placement=tail" }, { NIC_HOSTILE_RANDOM, "placement=random" },
	{ NIC_HOSTILE_ENDS, "ends=device" },    { NIC_HOSTILE_RETRY, "retry=spurious" },
	{ NIC_HOSTILE_SENT, "complete=sent" },  { NIC_HOSTILE_ALL & ~NIC_HOSTILE_TAIL, "all" },
};

#define HOSTILE_WORDS (sizeof(hostile_words) / sizeof(hostile_words[0]))

bool nic_hostile_is_valid(uint32_t set)
{
	return set <= NIC_HOSTILE_ALL && (set & NIC_HOSTILE_PLACEMENT) != NIC_HOSTILE_PLACEMENT;
}

void nic_hostile_text(uint32_t set, char text[NIC_HOSTILE_TEXT])
{
	text[0] = '\0';
	for (size_t i = 0; i < HOSTILE_WORDS - 1; i++) {
		if (!(set & hostile_words[i].mode))
			continue;
		if (text[0])
			strcat(text, ",");
		strcat(text, hostile_words[i].word);
	}
}

bool nic_hostile_parse(const char *text, uint32_t *set)
{
	uint32_t read = 0;
	size_t i, n;

	for (;; text += n + 1) {
		n = strcspn(text, ",");
		for (i = 0; i < HOSTILE_WORDS; i++)
			if (strlen(hostile_words[i].word) == n &&
			    memcmp(hostile_words[i].word, text, n) == 0)
				break;
		if (i == HOSTILE_WORDS)
			return false;
		read |= hostile_words[i].mode;
		if (!text[n])
			break;
	}
	if (nic_hostile_is_valid(read))
		*set = read;
	return nic_hostile_is_valid(read);
}

static bool knob_read_hostile(struct nic_config *config)
{
	const char *text = process_env("DATSIM_HOSTILE");

	if (!text || !*text || nic_hostile_parse(text, &config->hostile))
		return true;
	say("DATSIM_HOSTILE=%.64s: expected a list such as watch=posted,poison=on, of "
	    "watch=posted, poison=on, placement=tail or placement=random, ends=device, "
	    "retry=spurious, complete=sent; or all",
	    text);
	return false;
}

bool knob_numbers(struct nic_config *config)
{
	const char *profile = process_env("DATSIM_PROFILE"), *stuck = process_env("DATSIM_STUCK");
	struct nic_config c = NIC_CONFIG_DEFAULT;

	c.trace = process_env("DATSIM_TRACE") != NULL;
	if (profile && strcmp(profile, "iwarp") == 0) {
		c.profile = "iwarp";
	} else if (profile && strcmp(profile, "ib") != 0) {
		say("DATSIM_PROFILE=%.64s: expected ib or iwarp", profile);
		return false;
	}
	if (stuck && strcmp(stuck, "wait") != 0 && strcmp(stuck, "abort") != 0) {
		say("DATSIM_STUCK=%.64s: expected wait or abort", stuck);
		return false;
	}
	if (!knob_read_trace(&c) || !knob_read_hostile(&c))
		return false;
	for (size_t i = 0; i < NUMBERS; i++)
		if (!knob_read_number(&c, i))
			return false;
	if (!knob_in_range(c.latency_ns, c.bandwidth_bps)) {
		say("DATSIM_BANDWIDTH_BPS=%lu: expected 0 (no limit) or at least %lu",
		    c.bandwidth_bps, BANDWIDTH_MIN);
		return false;
	}
	*config = c;
	return true;
}

/* Parse A.B.C.D/N. */
static bool parse_network(const char *text, uint32_t *network, uint32_t *prefix)
{
	const char *slash = strchr(text, '/');
	char address[INET_ADDRSTRLEN];
	struct in_addr in;
	char *end;

	if (!slash || (size_t)(slash - text) >= sizeof(address) || slash[1] < '1' || slash[1] > '9')
		return false;
	memcpy(address, text, (size_t)(slash - text));
	address[slash - text] = '\0';
	*prefix = (uint32_t)strtoul(slash + 1, &end, 10);
	if (*end || *prefix < PREFIX_MIN || *prefix > PREFIX_MAX ||
	    inet_pton(AF_INET, address, &in) != 1)
		return false;
	*network = ntohl(in.s_addr);
	return true;
}

/* Why adapters cannot have addresses of this network; NULL: they can. */
static const char *network_fault(uint32_t network, uint32_t prefix)
{
	if (network >> 24 == IN_LOOPBACKNET)
		return "the addresses of this machine stand for its own adapters: expected "
		       "another network than 127.0.0.0/8";
	if (network >> 24 == 0 || network >> 24 >= 224)
		return "expected a network whose addresses hosts may have: 1.0.0.0 to "
		       "223.255.255.255";
	if (network << prefix)
		return "expected a network such as 10.1.2.0/24: no bit is set behind its prefix";
	return NULL;
}

static bool knob_read_network(struct nic_config *nic)
{
	const char *text = process_env("DATSIM_ADDRESSES"), *fault;

	if (!text)
		return true;
	if (!parse_network(text, &nic->network, &nic->prefix)) {
		say("DATSIM_ADDRESSES=%.64s: expected a network such as 10.1.2.0/24, with a prefix "
		    "of %u to %u",
		    text, PREFIX_MIN, PREFIX_MAX);
		return false;
	}
	fault = network_fault(nic->network, nic->prefix);
	if (fault)
		say("DATSIM_ADDRESSES=%.64s: %s", text, fault);
	return !fault;
}

bool knob_complete(struct nic_config *config)
{
	for (size_t i = 0; i < NUMBERS; i++) {
		uint64_t value = knob_get(config, i);

		if (value < numbers[i].min || value > numbers[i].max)
			return false;
	}
	if (!knob_in_range(config->latency_ns, config->bandwidth_bps) ||
	    !nic_hostile_is_valid(config->hostile))
		return false;
	config->trace_file = process_env("DATSIM_TRACE");
	return knob_read_trace(config) && knob_read_network(config);
}

bool knob_in_range(uint64_t latency_ns, uint64_t bandwidth_bps)
{
	return latency_ns <= TIME_MAX && bandwidth_bps <= BANDWIDTH_MAX &&
	       (bandwidth_bps == 0 || bandwidth_bps >= BANDWIDTH_MIN);
}

/* Set by `datsim run` for a program that a fault has killed. */
static void knob_read_return(struct nic_config *nic)
{
	const char *text = process_env("DATSIM_BACK_NS");

	nic->back_ns = text ? strtoull(text, NULL, 10) : 0;
}

/* Without a value there is no lockstep. */
static bool knob_read_lockstep(struct nic_config *nic)
{
	const char *text = process_env("DATSIM_LOCKSTEP");
	unsigned long ms;
	char *end;

	if (!text || !*text)
		return true;
	ms = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || ms < 1 || ms > PREEMPT_MS_MAX) {
		say("DATSIM_LOCKSTEP=%.64s: expected a number of milliseconds from 1 to %u", text,
		    PREEMPT_MS_MAX);
		return false;
	}
	nic->lockstep = true;
	nic->preempt_ns = ms * 1000000ul;
	nic->turns = process_env("DATSIM_TURNS");
	knob_read_return(nic);
	return true;
}

/*
 * In real time, links without a configured speed cost no time, and a sender retries a late receiver
 * without limit.
 */
static bool knob_read_shared(struct nic_config *nic, const char *fabric)
{
	const char *copy = process_env("DATSIM_COPY");

	nic->fabric = fabric;
	nic->node = process_env("DATSIM_NODE");
	if (copy && strcmp(copy, "bounce") != 0 && strcmp(copy, "direct") != 0) {
		say("DATSIM_COPY=%.64s: expected direct or bounce", copy);
		return false;
	}
	nic->bounce = copy && strcmp(copy, "bounce") == 0;
	if (!knob_read_lockstep(nic))
		return false;
	if (nic->lockstep)
		return true;
	if (!process_env("DATSIM_LATENCY_NS"))
		nic->latency_ns = 0;
	if (!process_env("DATSIM_BANDWIDTH_BPS"))
		nic->bandwidth_bps = 0;
	if (!process_env("DATSIM_RNR_RETRY"))
		nic->rnr_retry = RNR_RETRY_MAX;
	return true;
}

bool knob_fabric_config(struct nic_config *config, const char *fabric)
{
	return knob_numbers(config) && knob_complete(config) && knob_read_shared(config, fabric);
}

/* Ruling E11. datsim run reads the script, and passes its faults on as DATSIM_FAULTS. */
static bool knob_has_no_script(void)
{
	const char *script = process_env("DATSIM_SCRIPT");

	if (script)
		say("DATSIM_SCRIPT=%.64s: expected the program to be run by datsim run, which "
		    "reads the script: datsim run -- PROGRAM",
		    script);
	return !script;
}

bool knob_config(struct nic_config *config)
{
	const char *fabric = process_env("DATSIM_FABRIC");

	if (!knob_has_no_script())
		return false;
	if (fabric)
		return knob_fabric_config(config, fabric);
	return knob_numbers(config) && knob_complete(config);
}
