/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace.h - the trace: text inside the fabric, one line for each thing that happens.
 *
 * A line is "<ns> <object> <verb> key=value ..."; nothing in it depends on addresses, wall time or
 * the locale, so equal runs give equal bytes. The format is in doc/trace.md.
 */
#ifndef EMU_FABRIC_TRACE_H
#define EMU_FABRIC_TRACE_H

#include "fabric.h"

/* Begin the text with its header. */
void emu_trace_begin(struct emu_world *w);
void emu_trace_line(struct emu_world *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void emu_trace_vline(struct nic *nic, const char *format, va_list args);
int emu_trace_read(struct nic *nic, const char **text, size_t *length);
void emu_trace_switch(struct nic *nic, bool on);
/*
 * trace_file.c: write the trace to a file. Its pages are mapped as the memory of the trace, so the
 * file is complete even if the program dies. If the path is no regular file (a pipe, a terminal),
 * it is opened, and the text is written when the world ends.
 */
int emu_trace_open(struct emu_world *w, const char *path);
/* Make room for `bytes` more. False: the file or the trace is full. */
bool emu_trace_grow(struct emu_world *w, size_t bytes);
/* The trace of a shared fabric, which has no file until it ends: write it. */
void emu_trace_write(const struct emu_world *w, const char *path);
/* The trace ends: write the end mark. */
void emu_trace_close(struct emu_world *w);

/* What the front of a QP calls it; another process may have written any number. */
const char *emu_trace_noun(uint8_t noun);

/* The name of a QP in a line: "emu0.ep1". */
#define EMU_QP "%s.%s%u"
#define EMU_QP_OF(w, qp) \
	emu_adapter_name((w), (qp)->adapter), emu_trace_noun((qp)->noun), (qp)->name

#define emu_trace(w, ...)                                    \
	do {                                                 \
		if (__builtin_expect((w)->fab->trace_on, 0)) \
			emu_trace_line((w), __VA_ARGS__);    \
	} while (0)

#endif /* EMU_FABRIC_TRACE_H */
