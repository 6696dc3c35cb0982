/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that closed its standard streams and uses a device: neither the passthrough nor the
 * libraries below it use one of their descriptors.
 */
#include "tests/kernel/standard.h"

static int use_device(int mask)
{
	DAT_EVD_HANDLE async = NO_HANDLE, evd;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_IA_HANDLE ia;

	if (dat_ia_open((DAT_NAME_PTR) "stub0", 8, &async, &ia) != DAT_SUCCESS)
		return 1;
	if (dat_evd_create(ia, 8, NO_HANDLE, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, &evd) !=
	    DAT_SUCCESS)
		return 2;
	if (DAT_GET_TYPE(dat_evd_wait(evd, 1, 1, &event, &more)) != DAT_TIMEOUT_EXPIRED)
		return 3;
	if (standard_used(mask))
		return 4;
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS;
}

START_TEST(a_device_uses_no_standard_stream)
{
	for (int mask = 1; mask < STANDARD_SETS; mask++)
		standard_close_and_run(mask, use_device);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, a_device_uses_no_standard_stream);
}

int main(void)
{
	return unit_run_on_stub("streams", fill);
}
