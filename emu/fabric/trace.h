/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace.h - the trace inside the fabric: one record for each thing that happens (record.h), and its
 * text, one line for each.
 *
 * A line is "<ns> <object> <verb> key=value ..."; nothing in it depends on addresses, wall time or
 * the locale, so equal runs give equal bytes. The format is in doc/trace.md.
 */
#ifndef EMU_FABRIC_TRACE_H
#define EMU_FABRIC_TRACE_H

#include "fabric.h"
#include "record.h"

/* The note in place of the first line for which there is no room. */
#define EMU_TRACE_FULL "the trace is full (DATSIM_TRACE_BYTES): later lines are missing"
/* The same, before it has that length: the disk is full, or files may not be so long. */
#define EMU_TRACE_STUCK "the trace is full (its file cannot grow): later lines are missing"

void emu_trace_line(struct emu_world *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void emu_trace_vline(struct nic *nic, const char *format, va_list args);
/* A line of a front: enum nic_trace_kind. */
void emu_trace_event(struct nic *nic, enum nic_trace_kind kind, uint32_t name, uint32_t a,
		     uint32_t b, uint32_t c);
int emu_trace_read(struct nic *nic, const char **text, size_t *length);
int emu_trace_text(struct emu_world *w, const char **text, size_t *length);
/* Free the text that was read. */
void emu_trace_forget(struct emu_world *w);
/* The lines behind that length are of something that did not happen after all. */
void emu_trace_take_back(struct emu_world *w, uint64_t length);
void emu_trace_switch(struct nic *nic, bool on);
/* The adapter of a shared fabric has its name from now on, or had it until now. */
void emu_trace_adapter(struct emu_world *w, uint16_t adapter);
/*
 * trace_file.c: write the trace to a file. Its pages are mapped as the memory of the trace, so the
 * file is complete even if the program dies. If the path is no regular file (a pipe, a terminal),
 * it is opened, and the text is written when the world ends.
 */
int emu_trace_open(struct emu_world *w, const char *path);
/*
 * Take the file as that of this fabric's trace, or give it back. False: it is another one's, of
 * another process, of the parent of a forked child, or of the other library of a program.
 */
bool emu_trace_claim(int fd, bool claim);
/* Map the file of the trace: 0 or a positive errno. */
int emu_trace_map(struct emu_world *w, int fd);
/* Let a new file with the second half of the text take its place: 0 or a positive errno. */
int emu_trace_renew(struct emu_world *w);
/* Make room for `bytes` more. False: the file or the trace is full. */
bool emu_trace_grow(struct emu_world *w, size_t bytes);
/* One line more for the mapped file, in text. */
void emu_trace_file_vline(struct emu_world *w, const char *format, va_list args);
void emu_trace_file_record(struct emu_world *w, const struct emu_record *record);
/* The trace of a shared fabric, which has no file until it ends: write it. */
void emu_trace_write(struct emu_world *w, const char *path);
/* The trace ends: write the end mark. */
void emu_trace_close(struct emu_world *w);

const char *emu_status_name(enum nic_wc_status status);
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
