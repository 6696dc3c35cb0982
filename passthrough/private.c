/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private data of connection requests and answers, as it goes over the wire. InfiniBand and RoCE
 * pad it to a fixed size, so its last byte carries its length.
 */
#include <string.h>

#include "cm.h"

const uint8_t hw_private_no_listener[HW_MARK] = { 0xda, 0x54, 0x4e, 0x4c };
const uint8_t hw_private_by_program[HW_MARK] = { 0xda, 0x54, 0x52, 0x4a };

/* Behind the data, as far as there is room before the length. */
#define MARK_AT (HW_IB_PRIVATE - 3)
static const uint8_t padding_mark[2] = { 0xda, 0x54 };

/*
 * Another kind of peer may fill all 56 bytes with its own data, whose last byte looks like a
 * length. Behind our data are zeros and the mark. Only 55 bytes of data leave no room for those.
 */
static bool is_padded(const uint8_t *wire, uint32_t size)
{
	if (size >= HW_IB_PRIVATE)
		return false;
	for (uint32_t i = size; i < HW_IB_PRIVATE - 1; i++)
		if (wire[i] != (i < MARK_AT ? 0 : padding_mark[i - MARK_AT]))
			return false;
	return true;
}

uint8_t hw_private_pack(const struct hw_nic *n, const void *data, uint32_t size, uint8_t *wire)
{
	if (size)
		memmove(wire, data, size);
	if (n->iwarp)
		return (uint8_t)size;
	/* Shorter data arrives padded: the last byte says how much of it is data. */
	memset(wire + size, 0, HW_IB_PRIVATE - size);
	for (uint32_t i = MARK_AT; i < HW_IB_PRIVATE - 1; i++)
		if (i >= size)
			wire[i] = padding_mark[i - MARK_AT];
	wire[HW_IB_PRIVATE - 1] = (uint8_t)(HW_IB_LENGTH | size);
	return HW_IB_PRIVATE;
}

uint32_t hw_private_size(const struct hw_nic *n, const uint8_t *wire, uint32_t size)
{
	uint8_t last = wire[HW_IB_PRIVATE - 1];

	if (n->iwarp)
		return size < HW_IWARP_PRIVATE ? size : HW_IWARP_PRIVATE;
	if (size >= HW_IB_PRIVATE && (last & HW_IB_LENGTH) && is_padded(wire, last & ~HW_IB_LENGTH))
		return last & ~HW_IB_LENGTH;
	/* The peer is not libdat, and sends no length. */
	return size < HW_IB_PRIVATE ? size : HW_IB_PRIVATE;
}

bool hw_private_is(const uint8_t mark[HW_MARK], const uint8_t *private_data, uint32_t size)
{
	return size >= HW_MARK && memcmp(private_data, mark, HW_MARK) == 0;
}
