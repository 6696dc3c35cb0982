/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields of DAT_EP_PARAM as data, for tests that iterate over all of them. */
#ifndef TESTS_SUPPORT_EP_FIELDS_H
#define TESTS_SUPPORT_EP_FIELDS_H

#include "tests/support/support.h"

/* When dat_ep_modify may change a field: rulings M1 to M4. */
enum when {
	NEVER,             /* M1 */
	QUIESCENT,         /* M2: UNCONNECTED, TENTATIVE */
	BEFORE_CONNECTION, /* M3: also RESERVED, PASSIVE */
	UNCONNECTED_ONLY   /* M4 */
};

struct ep_field {
	const char *name;
	DAT_EP_PARAM_MASK bit;
	enum when when;
	size_t offset, size;
	DAT_UINT64 good;          /* a legal value that a new EP of plain_ep() does not have */
	const DAT_HANDLE *handle; /* set if the value is a handle */
};

extern const struct ep_field ep_fields[];
extern const size_t ep_field_count;

/* Objects of w.a that serve as good values of handle fields; other_objects() makes them. */
struct others {
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE recv, request, connect;
};
extern struct others others;
void other_objects(void);

const struct ep_field *field_of(DAT_EP_PARAM_MASK bit);
DAT_UINT64 good_value(const struct ep_field *field);
DAT_UINT64 field_get(const struct ep_field *field, const DAT_EP_PARAM *param);
void field_put(const struct ep_field *field, DAT_EP_PARAM *param, DAT_UINT64 value);
/* The field's current value in an EP */
DAT_UINT64 field_query(const struct ep_field *field, DAT_EP_HANDLE ep);
/* Calls dat_ep_modify for that one field. */
DAT_RETURN field_modify(const struct ep_field *field, DAT_EP_HANDLE ep, DAT_UINT64 value);

#endif /* TESTS_SUPPORT_EP_FIELDS_H */
