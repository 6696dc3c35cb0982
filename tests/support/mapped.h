/* SPDX-License-Identifier: BSD-3-Clause */
/* tests/support/mapped.h - how many addresses this process has. */
#ifndef TESTS_SUPPORT_MAPPED_H
#define TESTS_SUPPORT_MAPPED_H

/* In pages, whether there is memory behind them or not. */
long pages_mapped(void);

#endif /* TESTS_SUPPORT_MAPPED_H */
