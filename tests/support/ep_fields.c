/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the fields of DAT_EP_PARAM; reading and writing a field by its row. */
#include "tests/support/ep_fields.h"

struct others others;

/* clang-format off */
#define AT(member) offsetof(DAT_EP_PARAM, member), sizeof(((DAT_EP_PARAM *)0)->member)
#define VALUE(bit, member, when, good) { #bit, DAT_EP_FIELD_##bit, when, AT(member), good, NULL }
#define OBJECT(bit, member, when, good) \
	{ #bit, DAT_EP_FIELD_##bit, when, AT(member), 0, &others.good }
#define ATTR(bit, member, when, good) VALUE(EP_ATTR_##bit, ep_attr.member, when, good)

const struct ep_field ep_fields[] = {
	VALUE(IA_HANDLE,		ia_handle,		NEVER, 0),
	VALUE(EP_STATE,			ep_state,		NEVER, DAT_EP_STATE_CONNECTED),
	VALUE(LOCAL_IA_ADDRESS_PTR,	local_ia_address_ptr,	NEVER, 0),
	VALUE(LOCAL_PORT_QUAL,		local_port_qual,	NEVER, 5),
	VALUE(REMOTE_IA_ADDRESS_PTR,	remote_ia_address_ptr,	NEVER, 0),
	VALUE(REMOTE_PORT_QUAL,		remote_port_qual,	NEVER, 5),
	OBJECT(PZ_HANDLE,		pz_handle,		QUIESCENT, pz),
	OBJECT(RECV_EVD_HANDLE,		recv_evd_handle,	BEFORE_CONNECTION, recv),
	OBJECT(REQUEST_EVD_HANDLE,	request_evd_handle,	BEFORE_CONNECTION, request),
	OBJECT(CONNECT_EVD_HANDLE,	connect_evd_handle,	BEFORE_CONNECTION, connect),
	VALUE(SRQ_HANDLE,		srq_handle,		NEVER, 0),
	ATTR(SERVICE_TYPE,	service_type,		BEFORE_CONNECTION, DAT_SERVICE_TYPE_RC),
	ATTR(MAX_MESSAGE_SIZE,	max_message_size,	BEFORE_CONNECTION, 4096),
	ATTR(MAX_RDMA_SIZE,	max_rdma_size,		BEFORE_CONNECTION, 8192),
	ATTR(QOS,		qos,			BEFORE_CONNECTION, DAT_QOS_BEST_EFFORT),
	ATTR(RECV_COMPLETION_FLAGS, recv_completion_flags, BEFORE_CONNECTION,
	     DAT_COMPLETION_UNSIGNALLED_FLAG),
	ATTR(REQUEST_COMPLETION_FLAGS, request_completion_flags, BEFORE_CONNECTION,
	     DAT_COMPLETION_UNSIGNALLED_FLAG),
	ATTR(MAX_RECV_DTOS,	max_recv_dtos,		BEFORE_CONNECTION, 7),
	ATTR(MAX_REQUEST_DTOS,	max_request_dtos,	BEFORE_CONNECTION, 9),
	ATTR(MAX_RECV_IOV,	max_recv_iov,		BEFORE_CONNECTION, 2),
	ATTR(MAX_REQUEST_IOV,	max_request_iov,	BEFORE_CONNECTION, 3),
	ATTR(MAX_RDMA_READ_IN,	max_rdma_read_in,	BEFORE_CONNECTION, 2),
	ATTR(MAX_RDMA_READ_OUT,	max_rdma_read_out,	BEFORE_CONNECTION, 3),
	ATTR(SRQ_SOFT_HW,	srq_soft_hw,		NEVER, 5),
	ATTR(MAX_RDMA_READ_IOV,	max_rdma_read_iov,	BEFORE_CONNECTION, 1),
	ATTR(MAX_RDMA_WRITE_IOV, max_rdma_write_iov,	BEFORE_CONNECTION, 1),
	ATTR(NUM_TRANSPORT_ATTR, ep_transport_specific_count,	 UNCONNECTED_ONLY, 0),
	ATTR(TRANSPORT_SPECIFIC_ATTR, ep_transport_specific,	 UNCONNECTED_ONLY, 0),
	ATTR(NUM_PROVIDER_ATTR,	ep_provider_specific_count,	 UNCONNECTED_ONLY, 0),
	ATTR(PROVIDER_SPECIFIC_ATTR, ep_provider_specific,	 UNCONNECTED_ONLY, 0),
};
/* clang-format on */

const size_t ep_field_count = COUNT(ep_fields);

void other_objects(void)
{
	must(dat_pz_create(w.a.ia, &others.pz));
	others.recv = make_evd(&w.a, 8, DAT_EVD_DTO_FLAG);
	others.request = make_evd(&w.a, 8, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	others.connect = make_evd(&w.a, 8, DAT_EVD_CONNECTION_FLAG);
}

const struct ep_field *field_of(DAT_EP_PARAM_MASK bit)
{
	size_t i;

	for (i = 0; i < ep_field_count; i++)
		if (ep_fields[i].bit == bit)
			return &ep_fields[i];
	ck_abort_msg("no field has bit %#llx", (unsigned long long)bit);
	return NULL;
}

DAT_UINT64 good_value(const struct ep_field *field)
{
	return field->handle ? (DAT_UINT64)(uintptr_t)*field->handle : field->good;
}

DAT_UINT64 field_get(const struct ep_field *field, const DAT_EP_PARAM *param)
{
	const unsigned char *at = (const unsigned char *)param + field->offset;
	DAT_UINT64 wide = 0;
	DAT_UINT32 narrow = 0;

	if (field->size == sizeof(wide)) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	ck_assert_uint_eq(field->size, sizeof(narrow));
	memcpy(&narrow, at, sizeof(narrow));
	return narrow;
}

void field_put(const struct ep_field *field, DAT_EP_PARAM *param, DAT_UINT64 value)
{
	unsigned char *at = (unsigned char *)param + field->offset;
	DAT_UINT32 narrow = (DAT_UINT32)value;

	if (field->size == sizeof(value))
		memcpy(at, &value, sizeof(value));
	else
		memcpy(at, &narrow, sizeof(narrow));
}

DAT_UINT64 field_query(const struct ep_field *field, DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	memset(&param, 0xee, sizeof(param));
	must(dat_ep_query(ep, field->bit, &param));
	return field_get(field, &param);
}

DAT_RETURN field_modify(const struct ep_field *field, DAT_EP_HANDLE ep, DAT_UINT64 value)
{
	DAT_EP_PARAM param;

	memset(&param, 0xee, sizeof(param));
	field_put(field, &param, value);
	return dat_ep_modify(ep, field->bit, &param);
}
