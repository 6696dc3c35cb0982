/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ends.h - programs over verbs that meet by TCP, as most do: the server hands its port over in the
 * file "port", and both ends tell each other the numbers of their queue pairs by the socket.
 */
#ifndef WHOLE_ENDS_H
#define WHOLE_ENDS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one end tells the other. */
struct ends_card {
	uint32_t qpn, rkey;
	uint64_t address; /* that the other may write to, with rkey */
	union ibv_gid gid;
};

/* Or the program says what, and ends. */
void ends_need(bool good, const char *what);
/* So many clients may come. */
int ends_listen(int clients);
int ends_accept(int listener);
int ends_connect(const char *host);
void ends_exchange(int fd, const void *own, void *other, size_t size);

struct ibv_context *ends_open_device(void);
/* A queue pair of type RC, to the one of the card: from RESET to RTS. */
void ends_join(struct ibv_qp *qp, const struct ends_card *peer);

#endif /* WHOLE_ENDS_H */
