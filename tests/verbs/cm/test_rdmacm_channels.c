/* SPDX-License-Identifier: BSD-3-Clause */
/* Event channels of librdmacm, and events of ids that change theirs. */
#include "cm_ids.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/support/asleep.h"

START_TEST(a_channel_is_readable_while_it_has_events)
{
	struct rdma_cm_event *event;

	begin();
	ck_assert(!is_readable(channel));
	ck_assert_int_eq(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	REFUSED(rdma_get_cm_event(channel, &event), EAGAIN);
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	ck_assert_int_eq(resolve_to(b, EMU1), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert(is_readable(channel));
		take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	}
	ck_assert(!is_readable(channel));
	REFUSED(rdma_get_cm_event(channel, NULL), EINVAL);
	REFUSED(rdma_ack_cm_event(NULL), EINVAL);
	end();
}
END_TEST

/* The program may change them at that moment. O_APPEND has no effect on such a descriptor. */
START_TEST(a_fetched_event_leaves_the_flags_of_the_descriptor_alone)
{
	begin();
	ck_assert_int_eq(fcntl(channel->fd, F_SETFL, O_APPEND), 0);
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert(!is_readable(channel));
	ck_assert_int_eq(fcntl(channel->fd, F_GETFL), O_APPEND | O_RDWR);
	end();
}
END_TEST

START_TEST(a_migrated_id_takes_its_events_along)
{
	struct rdma_event_channel *other = rdma_create_event_channel();

	begin();
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	ck_assert_int_eq(resolve_to(b, EMU1), 0);
	ck_assert_int_eq(rdma_migrate_id(a, other), 0);
	ck_assert_ptr_eq(a->channel, other);
	take(other, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert(!is_readable(other));
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert(!is_readable(channel));
	ck_assert_int_eq(rdma_resolve_route(a, 1000), 0);
	ck_assert(is_readable(other));
	end();
	rdma_destroy_event_channel(other);
}
END_TEST

START_TEST(a_migrated_id_takes_its_events_from_behind_others)
{
	struct rdma_event_channel *other = rdma_create_event_channel();

	begin();
	ck_assert_int_eq(resolve_to(b, EMU1), 0);
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	ck_assert_int_eq(rdma_migrate_id(a, other), 0);
	ck_assert(is_readable(other));
	take(other, RDMA_CM_EVENT_ADDR_RESOLVED);
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert(!is_readable(channel));
	end();
	rdma_destroy_event_channel(other);
}
END_TEST

/* An event that is moved to the end of the queue it was in would be found again, without end. */
START_TEST(an_id_that_stays_on_its_channel_keeps_its_events_in_order)
{
	struct rdma_cm_id *alone;

	begin();
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	ck_assert_int_eq(rdma_resolve_route(a, 1000), 0);
	ck_assert_int_eq(resolve_to(b, EMU1), 0);
	ck_assert_int_eq(rdma_migrate_id(a, channel), 0);
	ck_assert_ptr_eq(a->channel, channel);
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert(!is_readable(channel));
	ck_assert_int_eq(rdma_create_id(NULL, &alone, NULL, RDMA_PS_TCP), 0);
	REFUSED(rdma_migrate_id(alone, alone->channel), EINVAL);
	ck_assert_int_eq(resolve_to(alone, EMU1), 0);
	ck_assert_ptr_nonnull(alone->event);
	ck_assert_int_eq(rdma_destroy_id(alone), 0);
	end();
}
END_TEST

/* LeakSanitizer reports an event that was not freed. */
START_TEST(a_channel_that_goes_before_its_ids_takes_its_events_along)
{
	begin();
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	ck_assert_int_eq(resolve_to(b, EMU1), 0);
	rdma_destroy_event_channel(channel);
	ck_assert_int_eq(rdma_destroy_id(a), 0);
	ck_assert_int_eq(rdma_destroy_id(b), 0);
}
END_TEST

struct mover {
	struct rdma_event_channel *to;
	pid_t tid;
	bool acknowledged; /* by the other thread */
	bool waited;
};

static void *migrate(void *arg)
{
	struct mover *mover = arg;

	__atomic_store_n(&mover->tid, gettid(), __ATOMIC_RELEASE);
	ck_assert_int_eq(rdma_migrate_id(a, mover->to), 0);
	mover->waited = __atomic_load_n(&mover->acknowledged, __ATOMIC_ACQUIRE);
	return NULL;
}

START_TEST(who_migrates_waits_for_the_acknowledgement)
{
	struct mover mover = { .to = rdma_create_event_channel() };
	struct rdma_cm_event *event;
	pthread_t thread;

	begin();
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, migrate, &mover), 0);
	until_thread_asleep(&mover.tid);
	__atomic_store_n(&mover.acknowledged, true, __ATOMIC_RELEASE);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(mover.waited);
	end();
	rdma_destroy_event_channel(mover.to);
}
END_TEST

START_TEST(an_id_that_gets_a_channel_closes_its_own)
{
	struct rdma_cm_id *id;
	int own;

	begin();
	ck_assert_int_eq(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
	own = id->channel->fd;
	ck_assert_int_eq(resolve_to(id, EMU1), 0);
	ck_assert_int_eq(rdma_migrate_id(id, channel), 0);
	ck_assert_ptr_eq(id->channel, channel);
	ck_assert_ptr_null(id->event);
	REFUSED(fcntl(own, F_GETFD), EBADF);
	ck_assert_int_eq(rdma_resolve_route(id, 1000), 0);
	take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	end();
}
END_TEST

static int next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(close(fd), 0);
	return fd;
}

START_TEST(an_id_without_a_channel_waits_itself)
{
	struct rdma_cm_id *id;
	int own, next;

	ck_assert_int_eq(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
	own = id->channel->fd;
	ck_assert_int_eq(resolve_to(id, EMU1), 0);
	ck_assert_ptr_nonnull(id->event);
	ck_assert_int_eq((int)id->event->event, (int)RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert_int_eq(rdma_resolve_route(id, 1000), 0);
	ck_assert_int_eq((int)id->event->event, (int)RDMA_CM_EVENT_ROUTE_RESOLVED);
	next = next_descriptor();
	REFUSED(rdma_migrate_id(id, NULL), EINVAL);
	ck_assert_int_eq(next_descriptor(), next);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	REFUSED(fcntl(own, F_GETFD), EBADF);
}
END_TEST

START_TEST(unfetched_events_go_with_their_id)
{
	begin();
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	ck_assert_int_eq(rdma_destroy_id(a), 0);
	ck_assert(!is_readable(channel));
	ck_assert_int_eq(rdma_create_id(channel, &a, NULL, RDMA_PS_TCP), 0);
	end();
}
END_TEST

START_TEST(every_event_has_a_name)
{
	ck_assert_str_eq(rdma_event_str(RDMA_CM_EVENT_ADDR_RESOLVED),
			 "RDMA_CM_EVENT_ADDR_RESOLVED");
	ck_assert_str_eq(rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT),
			 "RDMA_CM_EVENT_TIMEWAIT_EXIT");
	ck_assert_str_eq(rdma_event_str((enum rdma_cm_event_type)16), "UNKNOWN EVENT");
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_channel_is_readable_while_it_has_events, 1, NULL);
	unit_add(suite, a_fetched_event_leaves_the_flags_of_the_descriptor_alone, 1, NULL);
	unit_add(suite, a_migrated_id_takes_its_events_along, 1, NULL);
	unit_add(suite, a_migrated_id_takes_its_events_from_behind_others, 1, NULL);
	unit_add(suite, an_id_that_stays_on_its_channel_keeps_its_events_in_order, 1, NULL);
	unit_add(suite, a_channel_that_goes_before_its_ids_takes_its_events_along, 1, NULL);
	unit_add(suite, who_migrates_waits_for_the_acknowledgement, 1, NULL);
	unit_add(suite, an_id_that_gets_a_channel_closes_its_own, 1, NULL);
	unit_add(suite, an_id_without_a_channel_waits_itself, 1, NULL);
	unit_add(suite, unfetched_events_go_with_their_id, 1, NULL);
	unit_add(suite, every_event_has_a_name, 1, NULL);
}

UNIT_SUITE("rdmacm_channels")
