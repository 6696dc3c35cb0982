/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which addresses stand for the adapters of this machine on a shared fabric: those of its network
 * interfaces, which the linker takes from this file, and all of 127.0.0.0/8 and ::1.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include "emu/shared/hosts.h"
#include "tests/support/support.h"

int __wrap_getifaddrs(struct ifaddrs **list);
void __wrap_freeifaddrs(struct ifaddrs *list);

static struct sockaddr_storage addresses[2];
static struct ifaddrs interfaces[3];
static bool fails;
static int given, freed;

int __wrap_getifaddrs(struct ifaddrs **list)
{
	if (fails) {
		errno = EMFILE;
		return -1;
	}
	given++;
	*list = &interfaces[0];
	return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *list)
{
	freed += list == &interfaces[0];
}

static struct sockaddr_storage address_of(const char *text)
{
	struct sockaddr_storage addr = { .ss_family = AF_INET };

	if (inet_pton(AF_INET, text, &((struct sockaddr_in *)&addr)->sin_addr) == 1)
		return addr;
	addr.ss_family = AF_INET6;
	ck_assert_int_eq(inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)&addr)->sin6_addr), 1);
	return addr;
}

/* An interface without an address, one with IPv4 and one with IPv6 */
static void setup_interfaces(void)
{
	addresses[0] = address_of("192.0.2.7");
	addresses[1] = address_of("2001:db8::7");
	for (int i = 0; i < 3; i++)
		interfaces[i] = (struct ifaddrs){
			.ifa_next = i < 2 ? &interfaces[i + 1] : NULL,
			.ifa_addr = i > 0 ? (struct sockaddr *)&addresses[i - 1] : NULL,
		};
	fails = false;
	given = freed = 0;
}

static bool is_here(const char *text)
{
	struct sockaddr_storage addr = address_of(text);

	return emu_hosts_is_here((struct sockaddr *)&addr);
}

START_TEST(the_addresses_of_the_interfaces_are_here)
{
	ck_assert(is_here("192.0.2.7"));
	ck_assert(is_here("2001:db8::7"));
	ck_assert(!is_here("192.0.2.8"));
	ck_assert(!is_here("2001:db8::8"));
	ck_assert_int_eq(given, 4);
	ck_assert_int_eq(freed, 4);
}
END_TEST

START_TEST(loopback_is_here_whatever_interfaces_there_are)
{
	fails = true;
	ck_assert(is_here("127.0.0.1"));
	ck_assert(is_here("127.1.2.3"));
	ck_assert(is_here("::1"));
	ck_assert(!is_here("192.0.2.7"));
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, the_addresses_of_the_interfaces_are_here, 1, setup_interfaces);
	unit_add(suite, loopback_is_here_whatever_interfaces_there_are, 1, setup_interfaces);
}

UNIT_SUITE("hosts")
