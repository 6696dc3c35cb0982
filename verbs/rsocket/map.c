/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map.c - riomap, riounmap and riowrite: memory of this side that the peer writes to.
 *
 * Each side keeps a list of its regions and one of those that the peer told it of, by offset.
 * RDMA_IOMAPSIZE bounds the former, RS_MAPS_MOST both.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "rsocket.h"

#define NOTICES_MOST (4 * RS_MAPS_MOST)
#define WRITE_FLAGS  (MSG_DONTWAIT | MSG_WAITALL | MSG_NOSIGNAL | MSG_MORE)

/* ---- lists ---- */

static bool regions_overlap(const struct rs_region *a, const struct rs_region *b)
{
	return a->offset < b->offset + b->length && b->offset < a->offset + a->length;
}

static struct rs_map *find_overlap(struct rs_map_list *list, const struct rs_region *region)
{
	struct rs_map *map;

	TAILQ_FOREACH(map, list, link)
		if (regions_overlap(&map->region, region))
			return map;
	return NULL;
}

static struct rs_map *add_map(struct rs_map_list *list, const struct rs_region *region,
			      struct ibv_mr *mr)
{
	struct rs_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->region = *region;
	map->mr = mr;
	TAILQ_INSERT_TAIL(list, map, link);
	return map;
}

static void remove_map(struct rs_map_list *list, struct rs_map *map)
{
	TAILQ_REMOVE(list, map, link);
	if (map->mr)
		ibv_dereg_mr(map->mr);
	free(map);
}

void rs_maps_free(struct rs_socket *rs)
{
	struct rs_notice *notice;

	while (!TAILQ_EMPTY(&rs->own_maps))
		remove_map(&rs->own_maps, TAILQ_FIRST(&rs->own_maps));
	while (!TAILQ_EMPTY(&rs->peer_maps))
		remove_map(&rs->peer_maps, TAILQ_FIRST(&rs->peer_maps));
	while ((notice = STAILQ_FIRST(&rs->notices)) != NULL) {
		STAILQ_REMOVE_HEAD(&rs->notices, link);
		free(notice);
	}
	rs->own_count = rs->peer_count = rs->notice_count = 0;
}

/* ---- what the peer is told, and tells ---- */

static int add_notice(struct rs_socket *rs, enum rs_type type, const struct rs_region *region)
{
	struct rs_notice *notice;

	if (rs->notice_count == NOTICES_MOST)
		return -ENOBUFS;
	notice = calloc(1, sizeof(*notice));
	if (!notice)
		return -ENOMEM;
	notice->type = type;
	notice->region = *region;
	STAILQ_INSERT_TAIL(&rs->notices, notice, link);
	rs->notice_count++;
	return 0;
}

static bool is_region(const struct rs_region *region)
{
	return region->length > 0 && region->offset <= INT64_MAX &&
	       region->length <= INT64_MAX - region->offset;
}

int rs_map_told(struct rs_socket *rs, enum rs_type type, const struct rs_region *region)
{
	struct rs_map *map;

	if (!is_region(region))
		return -EPROTO;
	map = find_overlap(&rs->peer_maps, region);
	if (type == RS_UNMAP) {
		if (!map || map->region.offset != region->offset)
			return -EPROTO;
		remove_map(&rs->peer_maps, map);
		rs->peer_count--;
		return 0;
	}
	if (map || rs->peer_count == RS_MAPS_MOST || !add_map(&rs->peer_maps, region, NULL))
		return -EPROTO;
	rs->peer_count++;
	return 0;
}

/* ---- riomap ---- */

static int choose_offset(struct rs_socket *rs, struct rs_region *region, off_t offset)
{
	const struct rs_map *map;

	region->offset = (uint64_t)offset;
	if (offset == -1) {
		region->offset = 0;
		TAILQ_FOREACH(map, &rs->own_maps, link)
			if (map->region.offset + map->region.length > region->offset)
				region->offset = map->region.offset + map->region.length;
	}
	return offset < -1 || !is_region(region) || find_overlap(&rs->own_maps, region) ? -EINVAL
											: 0;
}

static int map_memory(struct rs_socket *rs, void *memory, size_t size, int prot, int flags,
		      off_t offset, off_t *out)
{
	struct rs_region region = { .length = size, .addr = (uintptr_t)memory };
	unsigned int access = IBV_ACCESS_LOCAL_WRITE;
	struct rs_map *map;
	struct ibv_mr *mr;
	int err;

	if (rs->state != RS_ACCEPTING && rs->state != RS_CONNECTED)
		return -ENOTCONN;
	if (flags || prot & ~PROT_WRITE)
		return -EINVAL;
	if (!memory)
		return -EFAULT;
	if (rs->own_count >= (unsigned int)rs->options.maps)
		return -ENOBUFS;
	err = choose_offset(rs, &region, offset);
	if (err)
		return err;
	if (prot & PROT_WRITE)
		access |= IBV_ACCESS_REMOTE_WRITE;
	mr = ibv_reg_mr(rs->id->pd, memory, size, (int)access);
	if (!mr)
		return -errno;
	region.key = mr->rkey;
	map = add_map(&rs->own_maps, &region, mr);
	if (!map) {
		ibv_dereg_mr(mr);
		return -ENOMEM;
	}
	rs->own_count++;
	map->writable = prot & PROT_WRITE;
	if (map->writable)
		err = add_notice(rs, RS_MAP, &region);
	if (err) {
		remove_map(&rs->own_maps, map);
		rs->own_count--;
		return err;
	}
	rs_send_due(rs);
	*out = (off_t)region.offset;
	return 0;
}

off_t riomap(int fd, void *memory, size_t size, int prot, int flags, off_t offset)
{
	struct rs_socket *rs = rs_enter(fd);
	off_t out = -1;
	int err;

	if (!rs)
		return -1;
	err = map_memory(rs, memory, size, prot, flags, offset, &out);
	rs_leave(rs, err);
	return out;
}

int riounmap(int fd, void *memory, size_t size)
{
	struct rs_socket *rs = rs_enter(fd);
	struct rs_map *map;
	int err = -EINVAL;

	if (!rs)
		return -1;
	TAILQ_FOREACH(map, &rs->own_maps, link)
		if (map->region.addr == (uintptr_t)memory && map->region.length == size)
			break;
	if (map) {
		/* The peer would write to what is no region any more. */
		err = map->writable && rs->state < RS_REFUSED
			      ? add_notice(rs, RS_UNMAP, &map->region)
			      : 0;
	}
	if (map && !err) {
		remove_map(&rs->own_maps, map);
		rs->own_count--;
		rs_send_due(rs);
	}
	return (int)rs_leave(rs, err);
}

/* ---- riowrite ---- */

/* Bytes that may be written at an offset of the peer, and where; 0: none. */
static uint64_t find_target(struct rs_socket *rs, uint64_t offset, uint64_t *addr, uint32_t *key)
{
	const struct rs_region at = { .offset = offset, .length = 1 };
	const struct rs_map *map = find_overlap(&rs->peer_maps, &at);
	uint64_t into;

	if (!map)
		return 0;
	into = offset - map->region.offset;
	*addr = map->region.addr + into;
	*key = map->region.key;
	return map->region.length - into;
}

/* One request. Returns its bytes, or a negative errno. */
static ssize_t write_piece(struct rs_socket *rs, const uint8_t *from, size_t size, uint64_t offset)
{
	uint32_t room = rs->tx.slots.size - (uint32_t)sizeof(struct rs_head), key;
	uint64_t addr, most = find_target(rs, offset, &addr, &key);
	int err;

	if (most == 0)
		return -EFAULT;
	if (size > room)
		size = room;
	if (size > most)
		size = most;
	memcpy(rs_next_body(rs), from, size);
	err = rs_send_write(rs, (uint32_t)size, addr, key);
	return err ? err : (ssize_t)size;
}

static ssize_t write_all(struct rs_socket *rs, const uint8_t *from, size_t size, uint64_t offset,
			 int flags)
{
	bool blocks = !rs->nonblocking && !(flags & MSG_DONTWAIT);
	size_t all = 0;
	ssize_t got = 0;

	while (got >= 0 && all < size) {
		if (rs_may_write(rs)) {
			got = write_piece(rs, from + all, size - all, offset + all);
			/* A program may try until the peer has told of the region. */
			if (got == -EFAULT && all == 0 && rs_progress(rs) > 0)
				got = 0;
			all += got > 0 ? (size_t)got : 0;
			continue;
		}
		if (rs_progress(rs) > 0)
			continue;
		got = rs_why_not_send(rs);
		if (got > 0)
			got = blocks ? rs_wait(rs, "riowrite") : -EAGAIN;
	}
	return all > 0 ? (ssize_t)all : got;
}

size_t riowrite(int fd, const void *from, size_t size, off_t offset, int flags)
{
	struct rs_socket *rs = rs_enter(fd);
	ssize_t got = 0;

	if (!rs)
		return (size_t)-1;
	if (!from && size > 0)
		got = -EFAULT;
	else if (offset < 0 || size > SSIZE_MAX)
		got = -EINVAL;
	else if (flags & ~WRITE_FLAGS)
		got = -EOPNOTSUPP;
	else if (rs_why_not_send(rs) < 0)
		got = rs_why_not_send(rs);
	if (got == 0) {
		rs_send_due(rs);
		got = write_all(rs, from, size, (uint64_t)offset, flags);
	}
	return (size_t)rs_leave(rs, got);
}
