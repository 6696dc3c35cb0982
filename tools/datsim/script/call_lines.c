/* SPDX-License-Identifier: BSD-3-Clause */
/* What each call does, in the words of its manual page's first line; shell.sh compares them. */
#include "calls.h"

#include <string.h>

static const struct {
	const char *call, *line;
} lines[] = {
	{ "dat_ia_open", "open an adapter" },
	{ "dat_ia_openv", "open an adapter" },
	{ "dat_ia_query", "tell limits of an adapter and abilities of its provider" },
	{ "dat_ia_close", "close an adapter" },
	{ "dat_set_consumer_context", "hang a value on an object, and read it" },
	{ "dat_get_consumer_context", "hang a value on an object, and read it" },
	{ "dat_get_handle_type", "tell which type of object a handle is" },
	{ "dat_pz_create", "make a Protection Zone" },
	{ "dat_pz_query", "tell the IA of a Protection Zone" },
	{ "dat_pz_free", "free a Protection Zone" },
	{ "dat_lmr_create", "register memory" },
	{ "dat_lmr_query", "tell what a Local Memory Region was registered with and what it got" },
	{ "dat_lmr_free", "end the registration of memory" },
	{ "dat_lmr_sync_rdma_read", "make memory consistent with RDMA of peers" },
	{ "dat_lmr_sync_rdma_write", "make memory consistent with RDMA of peers" },
	{ "dat_rmr_create", "make a Remote Memory Region" },
	{ "dat_rmr_query", "tell what a Remote Memory Region is bound to" },
	{ "dat_rmr_bind", "open a part of a memory region to a peer" },
	{ "dat_rmr_free", "free a Remote Memory Region" },
	{ "dat_evd_create", "make an Event Dispatcher, a queue of events" },
	{ "dat_evd_query", "tell length, state, flags and CNO of an Event Dispatcher" },
	{ "dat_evd_modify_cno", "hang an Event Dispatcher on another CNO" },
	{ "dat_evd_enable", "let an Event Dispatcher trigger its CNO, or keep it from it" },
	{ "dat_evd_disable", "let an Event Dispatcher trigger its CNO, or keep it from it" },
	{ "dat_evd_set_unwaitable", "forbid or allow waiting on an Event Dispatcher" },
	{ "dat_evd_clear_unwaitable", "forbid or allow waiting on an Event Dispatcher" },
	{ "dat_evd_wait", "wait for events on an Event Dispatcher" },
	{ "dat_evd_dequeue", "take the oldest event off an Event Dispatcher" },
	{ "dat_evd_resize", "change how many events an Event Dispatcher holds" },
	{ "dat_evd_post_se", "queue a software event" },
	{ "dat_evd_free", "free an Event Dispatcher" },
	{ "dat_cno_create", "make a Consumer Notification Object" },
	{ "dat_cno_modify_agent", "give a Consumer Notification Object another agent" },
	{ "dat_cno_query", "tell IA and agent of a Consumer Notification Object" },
	{ "dat_cno_wait", "wait until one of many Event Dispatchers notifies" },
	{ "dat_cno_free", "free a Consumer Notification Object" },
	{ "dat_ep_create", "make an Endpoint with Receives of its own" },
	{ "dat_ep_create_with_srq",
	  "make an Endpoint that draws its Receives from a Shared Receive Queue" },
	{ "dat_ep_query", "tell state, addresses, objects and attributes of an Endpoint" },
	{ "dat_ep_modify", "change parameters of an Endpoint" },
	{ "dat_ep_connect", "connect an Endpoint to a listener" },
	{ "dat_ep_dup_connect", "connect an Endpoint to where another one is connected" },
	{ "dat_ep_disconnect", "end the connection of an Endpoint" },
	{ "dat_ep_post_send", "post a message to be sent" },
	{ "dat_ep_post_recv", "post a Receive buffer on an Endpoint" },
	{ "dat_ep_post_rdma_read", "post a read of the peer's memory" },
	{ "dat_ep_post_rdma_write", "post a write into the peer's memory" },
	{ "dat_ep_get_status", "tell the state of an Endpoint and whether it is idle" },
	{ "dat_ep_reset", "bring a disconnected Endpoint back to its beginning" },
	{ "dat_ep_free", "free an Endpoint" },
	{ "dat_ep_recv_query", "count the Receive buffers at an Endpoint" },
	{ "dat_ep_set_watermark", "set and arm the high watermarks of an Endpoint" },
	{ "dat_srq_create", "make a Shared Receive Queue" },
	{ "dat_srq_free", "free a Shared Receive Queue" },
	{ "dat_srq_post_recv", "post a Receive buffer to a Shared Receive Queue" },
	{ "dat_srq_query", "tell size, low watermark and counts of a Shared Receive Queue" },
	{ "dat_srq_resize", "change how many Receives a Shared Receive Queue may hold" },
	{ "dat_srq_set_lw", "set and arm the low watermark of a Shared Receive Queue" },
	{ "dat_psp_create", "listen for connection requests" },
	{ "dat_psp_create_any", "listen for connection requests" },
	{ "dat_psp_query", "tell what a Public Service Point was made with" },
	{ "dat_psp_free", "stop listening" },
	{ "dat_rsp_create", "listen for one connection request on behalf of one Endpoint" },
	{ "dat_rsp_query", "tell what a Reserved Service Point was made with" },
	{ "dat_rsp_free", "stop listening on behalf of an Endpoint" },
	{ "dat_cr_query", "tell where a connection request comes from and what it carries" },
	{ "dat_cr_accept", "accept a connection request" },
	{ "dat_cr_reject", "reject a connection request" },
	{ "dat_cr_handoff", "move a connection request to another listener" },
	{ "dat_strerror", "text for a return value" },
	{ "dat_registry_list_providers", "list the adapters that can be opened" },
	{ "dat_registry_add_provider",
	  "register an adapter of another provider, and take it away" },
	{ "dat_registry_remove_provider",
	  "register an adapter of another provider, and take it away" },
};

const char *call_line(const struct call_row *row)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		if (!strcmp(lines[i].call, row->name))
			return lines[i].line;
	}
	return "";
}
