/* SPDX-License-Identifier: BSD-3-Clause */
/* The words and keys of keywords.h. */
#include "keywords.h"

const char *const use_kinds[] = {
	[USE_CONNECTED] = "connected",
	[USE_ADAPTER] = "adapter",
	[USE_BARE] = "bare",
	[USE_BARE + 1] = NULL,
};

const char *const use_keys_connected[] = {
	"srq", "max", "lw", "soft", "eps", "recv", "request", "iov", "qual", "qlen", "memory", NULL,
};

const char *const use_keys_adapter[] = { "qlen", "memory", NULL };

const char *const fabric_keys[] = {
	"profile", "latency", "bandwidth", "mtu",  "rnr_retry", "rnr_timer", "quantum", "seed",
	"watch",   "poison",  "placement", "ends", "retry",     "complete",  NULL,
};

const char *const link_keys[] = { "latency", "bandwidth", NULL };

const char *const turn_keys[] = { "call", "to", "for", "thread", "to_thread", NULL };

const char *const packet_kinds[] = {
	"any",
	"SEND",
	"SEND_ONLY",
	"SEND_FIRST",
	"SEND_MIDDLE",
	"SEND_LAST",
	"WRITE",
	"WRITE_ONLY",
	"WRITE_FIRST",
	"WRITE_MIDDLE",
	"WRITE_LAST",
	"READ_REQUEST",
	"READ_RESPONSE",
	"READ_RESPONSE_ONLY",
	"READ_RESPONSE_FIRST",
	"READ_RESPONSE_MIDDLE",
	"READ_RESPONSE_LAST",
	"ACK",
	"NAK",
	"NAK_SEQUENCE",
	"RNR_NAK",
	"CM",
	"CM_REQ",
	"CM_REP",
	"CM_RTU",
	"CM_REJ",
	"DISCONNECT",
	NULL,
};

const char *const packet_keys[] = { "psn", "message", "packet", "bytes", "ep", NULL };

const struct verdict_word verdict_words[] = {
	{ "drop", OPERAND_NONE, DAT_SIM_DROP },
	{ "loss", OPERAND_PERCENT, DAT_SIM_DROP },
	{ "corrupt", OPERAND_NONE, DAT_SIM_CORRUPT },
	{ "delay", OPERAND_TIME, DAT_SIM_DELAY },
	{ "reorder", OPERAND_MAYBE_TIME, DAT_SIM_REORDER },
	{ "duplicate", OPERAND_NONE, DAT_SIM_DUPLICATE },
	{ "rnr", OPERAND_NONE, DAT_SIM_RNR },
	{ "nak", OPERAND_NAK, DAT_SIM_NAK },
	{ "down", OPERAND_NONE, DAT_SIM_LINK_DOWN },
	{ "up", OPERAND_NONE, DAT_SIM_LINK_UP },
	{ "dead", OPERAND_NONE, DAT_SIM_HOST_DEAD },
	{ "count", OPERAND_NONE, DAT_SIM_PASS },
	{ "jitter", OPERAND_TIME, -1 },
	{ "optional", OPERAND_NONE, -1 },
	{ NULL, OPERAND_NONE, -1 },
};

const char fault_nak_codes[] =
	"sequence, invalid_request, remote_access, remote_operation or reserved";

const char *const fault_packet_keys[] = {
	"opcode", "part", "nth", "every", "after", "times", "probability", "from", "until", NULL,
};

/* The keys that some kinds of fault do not take come first. */
static const char *const all_keys[] = {
	"op", "ep", "actor", "nth", "every", "after", "times", "probability", "from", "until", NULL,
};
static const char *const no_keys[] = { NULL };

const struct fault_takes fault_takes[] = {
	[FAULT_CALL] = { { "fail", "count" },
			 "fail DAT_INSUFFICIENT_RESOURCES or count",
			 all_keys + 1 },
	[FAULT_ALLOC] = { { "fail", "count" }, "fail or count", all_keys + 2 },
	[FAULT_COMPLETION] = { { "status", "overflow", "delay", "count" },
			       "status DAT_DTO_ERR_TRANSPORT, overflow, delay 5us or count",
			       all_keys },
	[FAULT_EVENT] = { { "lose", "delay", "count" }, "lose, delay 5us or count", all_keys + 1 },
	[FAULT_ADAPTER] = { { "fatal", "remove", "down", "at", "for" },
			    "fatal at 5us, remove at 5us or down at 5us for 1ms",
			    no_keys },
	[FAULT_KILL] = { { "at", "restart", "after" }, "at 5us, restart or after 1ms", no_keys },
};
