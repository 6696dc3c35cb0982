/* SPDX-License-Identifier: BSD-3-Clause */
/* Binds packet lines: a>b SEND psn=+1, no packet a>b. */
#include "bind.h"

#include <string.h>

#define PSN_MAX 0xffffff

/* Kinds of packets: the names of a fault line, and those of the trace. */
static const char *const opcodes[] = {
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
};

static bool bind_opcode(struct binder *binder, const struct packet_line *packet)
{
	struct suggest suggest;
	size_t i;

	suggest_start(&suggest, packet->opcode, (int)strlen(packet->opcode));
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		if (!strcmp(opcodes[i], packet->opcode))
			return true;
		suggest_try(&suggest, opcodes[i]);
	}
	diag_add(&binder->script->diag, packet->opcode_at,
		 "expected SEND, WRITE, READ_REQUEST, READ_RESPONSE, ACK, NAK, RNR_NAK, CM, "
		 "DISCONNECT or any, found \"%s\"",
		 packet->opcode);
	diag_suggest(&binder->script->diag, &suggest);
	return false;
}

static bool bind_packet_field(struct binder *binder, const struct setting *setting)
{
	static const char *const keys[] = { "psn", "message", "packet", "bytes", "ep", NULL };
	int64_t number;
	int i;

	for (i = 0; keys[i] && strcmp(keys[i], setting->key); i++)
		;
	if (!keys[i])
		return bind_unknown_key(binder, setting, keys);
	if (!strcmp(setting->key, "ep"))
		return bind_of_type(binder, setting->value, DAT_HANDLE_TYPE_EP,
				    "the sending EP, as actor.ep");
	if (!bind_number(binder, setting->value, GROUP_NONE))
		return false;
	return setting->value->kind == VALUE_VARIABLE ||
	       value_between(binder, setting->value, 0,
			     strcmp(setting->key, "psn") ? UINT32_MAX : PSN_MAX, &number);
}

bool bind_packet(struct binder *binder, struct statement *st)
{
	struct packet_line *packet = &st->packet;
	const struct setting *setting;

	packet->from_actor = bind_actor(binder, packet->from, packet->from_at);
	if (packet->from_actor < 0)
		return false;
	packet->to_actor = bind_actor(binder, packet->to, packet->to_at);
	if (packet->to_actor < 0 || (!packet->absent && !bind_opcode(binder, packet)))
		return false;
	for (setting = packet->wanted; setting; setting = setting->next) {
		if (!bind_packet_field(binder, setting))
			return false;
	}
	binder->script->watches_packets = true;
	return true;
}
