/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pages.h - is memory there, with the access that a registration needs?
 *
 * An adapter pins the pages of a region, so its registration refuses what is not mapped, what the
 * process may not read, and, if something may write to the region, what the process may not write.
 * The emulator refuses the same. What happens to the memory later is guard.h's subject.
 *
 * Up to 64 pages are looked at as pinning would: the kernel is asked to make them present
 * (MADV_POPULATE_READ, MADV_POPULATE_WRITE), which is exact, even for a page behind the end of its
 * file, and takes half a microsecond. It would allocate all of a larger region, which an emulator
 * need not. There, and where the kernel does not know the advice (before Linux 5.14), the answer is
 * in /proc/self/maps. The kernel finds a mapping in it by address (PROCMAP_QUERY, since Linux
 * 6.11), which takes two microseconds; to read them as text takes as long for every ten mappings.
 * If the file cannot be opened, the region is taken as it is.
 */
#ifndef EMU_PAGES_H
#define EMU_PAGES_H

#include <stdbool.h>
#include <stdint.h>

bool emu_pages_allow(uint64_t addr, uint64_t length, bool write);

#endif /* EMU_PAGES_H */
