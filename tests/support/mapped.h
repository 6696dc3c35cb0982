/* SPDX-License-Identifier: BSD-3-Clause */
/* tests/support/mapped.h - how many addresses this process has. */
#ifndef TESTS_SUPPORT_MAPPED_H
#define TESTS_SUPPORT_MAPPED_H

/* The size of the address space in pages, whether or not they have memory. */
long pages_mapped(void);

#endif /* TESTS_SUPPORT_MAPPED_H */
