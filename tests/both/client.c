/* SPDX-License-Identifier: BSD-3-Clause */
/* client.c - the end of both.c that is of librdmacm and verbs. */
#include "both.h"

#define main both_ask
#include "tests/verbs/mixed.c"
