/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat/dat_platform_specific.h - the scalar and address types that the other headers use.
 */
#ifndef _DAT_PLATFORM_SPECIFIC_H_
#define _DAT_PLATFORM_SPECIFIC_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>

/* Old C libraries hide this macro from C++98. */
#ifndef UINT64_C
#define UINT64_C(c)		c ## ULL
#endif

/* Buffers aligned to this many bytes are never slower than others. */
#ifndef DAT_OPTIMAL_ALIGNMENT
#define DAT_OPTIMAL_ALIGNMENT	256
#endif

typedef uint32_t		DAT_UINT32;
typedef uint64_t		DAT_UINT64;
typedef unsigned long long	DAT_UVERYLONG;	/* the widest unsigned integer */
typedef DAT_UINT64		DAT_PADDR;	/* a physical address */
typedef int			DAT_COUNT;	/* signed: -1 and -2 have meanings, see dat.h */
typedef void			*DAT_PVOID;

/*
 * An adapter's address is a plain socket address; its family is DAT_AF_INET or DAT_AF_INET6. The
 * port in it is ignored: calls have a Connection Qualifier instead. The caller that passes a
 * DAT_IA_ADDRESS_PTR owns the storage, which has to fit the family.
 */
typedef struct sockaddr		DAT_SOCK_ADDR;
typedef struct sockaddr_in6	DAT_SOCK_ADDR6;

#define DAT_AF_INET		AF_INET
#define DAT_AF_INET6		AF_INET6

/* Older sources mark parameters with these; they expand to nothing. Our headers do not use them. */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef INOUT
#define INOUT
#endif

#endif /* _DAT_PLATFORM_SPECIFIC_H_ */
