/* SPDX-License-Identifier: BSD-3-Clause */
/* Binds packet lines: a>b SEND psn=+1, no packet a>b. */
#include "bind.h"
#include "keywords.h"

#include <string.h>

#define PSN_MAX 0xffffff

static bool bind_opcode(struct binder *binder, const struct packet_line *packet)
{
	struct suggest suggest;
	size_t i;

	suggest_start(&suggest, packet->opcode, (int)strlen(packet->opcode));
	for (i = 0; packet_kinds[i]; i++) {
		if (!strcmp(packet_kinds[i], packet->opcode))
			return true;
		suggest_try(&suggest, packet_kinds[i]);
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
	int64_t number;
	int i;

	for (i = 0; packet_keys[i] && strcmp(packet_keys[i], setting->key); i++)
		;
	if (!packet_keys[i])
		return bind_unknown_key(binder, setting, packet_keys);
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
