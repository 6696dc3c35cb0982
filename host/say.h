/* SPDX-License-Identifier: BSD-3-Clause */
/* say.h - print a line for the user on stderr, with "libdat: " before it. */
#ifndef HOST_SAY_H
#define HOST_SAY_H

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* HOST_SAY_H */
