/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * option.c - options. Sizes of queues and buffers act at the connection, so they are refused
 * afterwards; an accepted rsocket has its listener's.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "rsocket.h"

#define BYTES_LEAST 4096
#define BYTES_MOST  (1 << 24)
#define IDLE_MOST   32767 /* seconds */
#define IDLE_USUAL  7200
#define PROBE_USUAL 75 /* seconds */
#define PROBES_MOST 127
#define PROBES      9

const struct rs_options rs_options_usual = { .send_bytes = 1 << 17,
					     .recv_bytes = 1 << 17,
					     .send_slots = 64,
					     .recv_slots = 64,
					     .inline_bytes = 64,
					     .keep_idle = IDLE_USUAL,
					     .keep_interval = PROBE_USUAL,
					     .keep_probes = PROBES };

/* One whose value is an int. */
struct option {
	int level, name;
	size_t field;
	int least, most; /* what is beyond is the nearest that is not */
	bool flag;       /* any value but 0 is 1 */
	bool early;      /* it cannot change once the rsocket is to connect */
};

#define FIELD(name) offsetof(struct rs_options, name)

static const struct option options[] = {
	{ SOL_SOCKET, SO_REUSEADDR, FIELD(reuse_address), .flag = true },
	{ SOL_SOCKET, SO_KEEPALIVE, FIELD(keep_alive), .flag = true },
	{ SOL_SOCKET, SO_OOBINLINE, FIELD(out_of_band), .flag = true },
	{ SOL_SOCKET, SO_SNDBUF, FIELD(send_bytes), .least = BYTES_LEAST, .most = BYTES_MOST },
	{ SOL_SOCKET, SO_RCVBUF, FIELD(recv_bytes), .least = BYTES_LEAST, .most = BYTES_MOST },
	{ IPPROTO_TCP, TCP_NODELAY, FIELD(no_delay), .flag = true },
	{ IPPROTO_TCP, TCP_KEEPIDLE, FIELD(keep_idle), .least = 1, .most = IDLE_MOST },
	{ IPPROTO_TCP, TCP_KEEPINTVL, FIELD(keep_interval), .least = 1, .most = IDLE_MOST },
	{ IPPROTO_TCP, TCP_KEEPCNT, FIELD(keep_probes), .least = 1, .most = PROBES_MOST },
	{ IPPROTO_IPV6, IPV6_V6ONLY, FIELD(only_ipv6), .flag = true, .early = true },
	{ SOL_RDMA, RDMA_SQSIZE, FIELD(send_slots), .least = RS_SLOTS_LEAST, .most = RS_SLOTS_MOST,
	  .early = true },
	{ SOL_RDMA, RDMA_RQSIZE, FIELD(recv_slots), .least = RS_SLOTS_LEAST, .most = RS_SLOTS_MOST,
	  .early = true },
	{ SOL_RDMA, RDMA_INLINE, FIELD(inline_bytes), .least = 0, .most = VB_INLINE_MAX,
	  .early = true },
	{ SOL_RDMA, RDMA_IOMAPSIZE, FIELD(maps), .least = 0, .most = RS_MAPS_MOST },
};

static const struct option *find_option(int level, int name)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i].level == level && options[i].name == name)
			return &options[i];
	return NULL;
}

static int *value_of(struct rs_socket *rs, const struct option *option)
{
	return (int *)((char *)&rs->options + option->field);
}

/* ---- set ---- */

/* -1 and errno. As the real library has it, only an RNIC tells that it is too late. */
static int share_port(struct rs_socket *rs, int on)
{
	if (!rs->id ||
	    !rdma_set_option(rs->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)))
		return 0;
	return rs->id->verbs && cm_is_rnic(cm_id_of(rs->id)) ? -1 : 0;
}

static int set_int(struct rs_socket *rs, const struct option *option, const void *from,
		   socklen_t size)
{
	int value;

	if (size < sizeof(value))
		return -EINVAL;
	memcpy(&value, from, sizeof(value));
	if (option->early && rs->state > RS_LISTENING)
		return -EINVAL;
	if (option->flag)
		value = value != 0;
	else if (value < 0)
		return -EINVAL;
	else if (value < option->least)
		value = option->least;
	else if (value > option->most)
		value = option->most;
	if (option->name == SO_REUSEADDR && option->level == SOL_SOCKET && share_port(rs, value))
		return -errno;
	*value_of(rs, option) = value;
	return 0;
}

static int set_linger(struct rs_socket *rs, const void *from, socklen_t size)
{
	if (size < sizeof(rs->options.linger))
		return -EINVAL;
	memcpy(&rs->options.linger, from, sizeof(rs->options.linger));
	return 0;
}

/* A path that the program found itself: every path here is the same. */
static int set_route(const struct rs_socket *rs, socklen_t size)
{
	if (rs->state > RS_BOUND)
		return -EINVAL;
	return size == 0 || size % sizeof(struct ibv_path_data) ? -EINVAL : 0;
}

/* The kernel takes one byte, and refuses an int, which other sockets take. */
static int set_tos(struct rs_socket *rs, const void *from, socklen_t size)
{
	uint8_t tos;

	if (size != sizeof(tos))
		return -EINVAL;
	memcpy(&tos, from, sizeof(tos));
	rs->options.tos = tos;
	return 0;
}

/* The peer's slots alone decide how long a message may be. */
static int set_segment(socklen_t size)
{
	return size < sizeof(int) ? -EINVAL : 0;
}

static int set_option(struct rs_socket *rs, int level, int name, const void *from, socklen_t size)
{
	const struct option *option = find_option(level, name);

	if (!from)
		return -EFAULT;
	if (option)
		return set_int(rs, option, from, size);
	if (level == SOL_SOCKET && name == SO_LINGER)
		return set_linger(rs, from, size);
	if (level == SOL_RDMA && name == RDMA_ROUTE)
		return set_route(rs, size);
	if (level == IPPROTO_TCP && name == TCP_MAXSEG)
		return set_segment(size);
	if (level == IPPROTO_IP && name == IP_TOS)
		return set_tos(rs, from, size);
	if (level == IPPROTO_TCP && name == TCP_CONGESTION)
		return 0; /* any name */
	return -ENOTSUP;
}

int rsetsockopt(int fd, int level, int name, const void *from, socklen_t size)
{
	struct rs_socket *rs = rs_enter(fd);

	return rs ? (int)rs_leave(rs, set_option(rs, level, name, from, size)) : -1;
}

/* ---- get ---- */

/* 0, as the calls return. */
static int give_value(const void *value, size_t all, void *to, socklen_t *size)
{
	if (*size > all)
		*size = (socklen_t)all;
	memcpy(to, value, *size);
	return 0;
}

/* A value that is no field of the options. False: this one is not known either. */
static bool own_value(struct rs_socket *rs, int level, int name, int *value)
{
	if (level == IPPROTO_TCP && name == TCP_MAXSEG) {
		*value = rs->tx.slots.n ? (int)(rs->tx.slots.size - sizeof(struct rs_head))
					: (int)RS_BODY_LEAST;
		return true;
	}
	if (level == IPPROTO_IP && name == IP_TOS) {
		*value = rs->options.tos;
		return true;
	}
	if (level != SOL_SOCKET)
		return false;
	switch (name) {
	case SO_BROADCAST:
		*value = 0;
		return true;
	case SO_ERROR:
		rs_progress(rs);
		*value = rs->pending_error;
		rs->pending_error = 0;
		return true;
	case SO_TYPE:
		*value = SOCK_STREAM;
		return true;
	case SO_DOMAIN:
		*value = rs->domain;
		return true;
	case SO_PROTOCOL:
		*value = IPPROTO_TCP;
		return true;
	case SO_ACCEPTCONN:
		*value = rs->state == RS_LISTENING;
		return true;
	default:
		return false;
	}
}

/* As far as the real library fills it in. */
static int get_info(const struct rs_socket *rs, void *to, socklen_t *size)
{
	struct tcp_info info = { .tcpi_state = TCP_CLOSE };

	if (rs->state == RS_CONNECTED)
		info.tcpi_state = TCP_ESTABLISHED;
	info.tcpi_snd_cwnd = (uint32_t)rs->options.send_slots;
	return give_value(&info, sizeof(info), to, size);
}

/* The real library gives a number in place of a name, and leaves the size as it is. */
static int get_congestion(void *to, const socklen_t *size)
{
	const int one = 1;
	socklen_t room = *size;

	return give_value(&one, sizeof(one), to, &room);
}

static int get_option(struct rs_socket *rs, int level, int name, void *to, socklen_t *size)
{
	const struct option *option = find_option(level, name);
	int value;

	if (!to || !size)
		return -EFAULT;
	if ((int)*size < 0)
		return -EINVAL;
	if (option)
		return give_value(value_of(rs, option), sizeof(int), to, size);
	if (level == SOL_SOCKET && name == SO_LINGER)
		return give_value(&rs->options.linger, sizeof(rs->options.linger), to, size);
	if (own_value(rs, level, name, &value))
		return give_value(&value, sizeof(value), to, size);
	if (level == IPPROTO_TCP && name == TCP_INFO)
		return get_info(rs, to, size);
	if (level == IPPROTO_TCP && name == TCP_CONGESTION)
		return get_congestion(to, size);
	return -ENOTSUP;
}

int rgetsockopt(int fd, int level, int name, void *to, socklen_t *size)
{
	struct rs_socket *rs = rs_enter(fd);

	return rs ? (int)rs_leave(rs, get_option(rs, level, name, to, size)) : -1;
}
