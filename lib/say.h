/* SPDX-License-Identifier: BSD-3-Clause */
/* say.h - a sentence for the person in front of the program, on stderr, with "libdat: " before it. */
#ifndef LIB_SAY_H
#define LIB_SAY_H

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* LIB_SAY_H */
