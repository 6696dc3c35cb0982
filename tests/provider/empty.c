/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that is no provider's. */
extern int nothing_of_a_provider;
int nothing_of_a_provider;
