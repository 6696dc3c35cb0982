/* SPDX-License-Identifier: BSD-3-Clause */
/* The one network interface that the device has. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "stub.h"

int getifaddrs(struct ifaddrs **list)
{
	struct {
		struct ifaddrs v;
		struct sockaddr_in addr;
	} *one;

	if (stub_refuses("getifaddrs"))
		return -1;
	one = calloc(1, sizeof(*one));
	one->addr = (struct sockaddr_in){ .sin_family = AF_INET,
					  .sin_addr.s_addr = htonl(STUB_ADDRESS) };
	one->v.ifa_name = (char *)"stub0";
	one->v.ifa_flags = IFF_UP | IFF_RUNNING;
	one->v.ifa_addr = (struct sockaddr *)&one->addr;
	*list = &one->v;
	return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
	free(list);
}
