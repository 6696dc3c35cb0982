/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * path.c - the entries of uDAPL's provider table for the calls of every message, by the path that
 * the host chose. The table belongs to the backend instance, so a change concerns the handles of
 * that instance only.
 */
#include "lib/api.h"
#include "lib/front.h"
#include "path.h"
#include "quick_hw.h"

static const struct {
	__typeof__(dat__evd_dequeue) *evd_dequeue;
	__typeof__(dat__ep_post_send) *ep_post_send;
	__typeof__(dat__ep_post_recv) *ep_post_recv;
	__typeof__(dat__srq_post_recv) *srq_post_recv;
} path_calls[PATH_COUNT] = {
	[PATH_CAREFUL] = { dat__evd_dequeue_careful, dat__ep_post_send_careful,
			   dat__ep_post_recv_careful, dat__srq_post_recv },
	[PATH_PRIVATE] = { dat__evd_dequeue, dat__ep_post_send, dat__ep_post_recv,
			   dat__srq_post_recv },
	[PATH_TRACED] = { dat__evd_dequeue_traced, dat__ep_post_send, dat__ep_post_recv,
			  dat__srq_post_recv },
	[PATH_SHARED] = { dat__evd_dequeue_biased, dat__ep_post_send_biased,
			  dat__ep_post_recv_biased, dat__srq_post_recv_biased },
	/*
	 * On hardware, objects have tables of their own (quick_hw_choose); this one is for all
	 * others.
	 */
	[PATH_HARDWARE] = { dat__evd_dequeue_careful, dat__ep_post_send_careful,
			    dat__ep_post_recv_careful, dat__srq_post_recv },
};

void path_use(struct front *front, enum path path)
{
	struct dat_front *dat = (struct dat_front *)front;

	api_set_call(&dat->provider.evd_dequeue_func, path_calls[path].evd_dequeue);
	api_set_call(&dat->provider.ep_post_send_func, path_calls[path].ep_post_send);
	api_set_call(&dat->provider.ep_post_recv_func, path_calls[path].ep_post_recv);
	api_set_call(&dat->provider.srq_post_recv_func, path_calls[path].srq_post_recv);
	if (front->backend->module)
		quick_hw_choose(front->backend, path != PATH_HARDWARE);
}
