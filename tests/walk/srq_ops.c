/* SPDX-License-Identifier: BSD-3-Clause */
/* What a walk of many Endpoints on one Shared Receive Queue does, and how often. */
#include "walk.h"

/* clang-format off */
const struct walk_op walk_srq_ops[] = {
	{ "srq post", 14, op_srq_post, false },
	{ "set lw", 8, op_set_lw, false },
	{ "resize", 6, op_resize, false },
	{ "srq free", 1, op_srq_free_busy, false },
	{ "renew", 1, op_new_srq, false },
	{ "send", 24, op_send, false },
	{ "send too long", 1, op_send_too_long, false },
	{ "send anywhere", 1, op_send_anywhere, false },
	{ "reap", 18, op_reap, false },
	{ "reap all", 2, op_reap_all, false },
	{ "create", 10, op_create, false },
	{ "connect", 12, op_connect, false },
	{ "disconnect", 4, op_disconnect, false },
	{ "reset", 5, op_reset, false },
	{ "free", 1, op_free, false },
	{ "set watermark", 1, op_set_watermark, false },
	{ "post to EP", 1, op_ep_post, false },
	{ "advance", 12, op_advance, false },
	{ "steps", 6, op_steps, false },
	{ "settle", 12, op_settle, false },
	{ "hold forth", 1, op_hold_forth, true },
	{ "hold forth later", 1, op_hold_forth_later, true },
	{ "hold back", 1, op_hold_back, true },
	{ "release links", 4, op_release_links, true },
	{ "release message", 6, op_release_message, true },
	{ "set link", 1, op_set_link, true },
	{ "lazy", 2, op_lazy, false },
	{ NULL, 0, NULL, false },
};
/* clang-format on */
