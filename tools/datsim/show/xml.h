/* SPDX-License-Identifier: BSD-3-Clause */
/* xml.h - text that XML may hold, whatever bytes it is made of. */
#ifndef DATSIM_XML_H
#define DATSIM_XML_H

#include <stddef.h>
#include <stdio.h>

/* What it may not hold becomes '?'; its own marks are escaped. */
void xml_escape(FILE *out, const char *s, size_t length);

#endif
