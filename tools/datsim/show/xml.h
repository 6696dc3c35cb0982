/* SPDX-License-Identifier: BSD-3-Clause */
/* xml.h - write any bytes as text of an XML file. */
#ifndef DATSIM_XML_H
#define DATSIM_XML_H

#include <stddef.h>
#include <stdio.h>

/* Markup is escaped; bytes that XML cannot hold become '?'. */
void xml_escape(FILE *out, const char *s, size_t length);

#endif
