/* SPDX-License-Identifier: BSD-3-Clause */
/* watch_table.h - for watch.c: the table of EPs and QPs by their names, and lists of entries. */
#ifndef DATSIM_WATCH_TABLE_H
#define DATSIM_WATCH_TABLE_H

#include "watch.h"

void watch_list_add(struct watch_list *list, const struct watch_entry *entry);
/* NULL: there is none. */
struct watch_entry *watch_list_oldest(struct watch_list *list);
void watch_list_take(struct watch_list *list);
void watch_list_clear(struct watch_list *list);

bool watch_same(struct span a, struct span b);
uint32_t watch_hash(struct span object);
/* kind: as ".qp" */
bool watch_is_kind(struct span object, const char *kind);
/* The object with this name, added if it is new; other objects move then. */
struct watched *watch_object(struct watch *watch, struct span object);

#endif
