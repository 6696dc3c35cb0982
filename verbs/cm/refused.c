/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * refused.c - the names of librdmacm that are not implemented: rsockets. Nothing here looks at an
 * argument, so none is declared.
 */
#include <errno.h>
#include <stddef.h>

#define MINUS(name)                 \
	long name(void);            \
	long name(void)             \
	{                           \
		errno = EOPNOTSUPP; \
		return -1;          \
	}

/* RDMACM_1.0 */
MINUS(raccept)
MINUS(rbind)
MINUS(rclose)
MINUS(rconnect)
MINUS(rfcntl)
MINUS(rgetpeername)
MINUS(rgetsockname)
MINUS(rgetsockopt)
MINUS(riomap)
MINUS(riounmap)
MINUS(riowrite)
MINUS(rlisten)
MINUS(rpoll)
MINUS(rread)
MINUS(rreadv)
MINUS(rrecv)
MINUS(rrecvfrom)
MINUS(rrecvmsg)
MINUS(rselect)
MINUS(rsend)
MINUS(rsendmsg)
MINUS(rsendto)
MINUS(rsetsockopt)
MINUS(rshutdown)
MINUS(rsocket)
MINUS(rwrite)
MINUS(rwritev)
