/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * context.c - the calls that take a handle of any type (ruling G8): consumer contexts, and the
 * handle's type.
 */
#include "api.h"
#include "object.h"

#define BAD_HANDLE DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1)

DAT_RETURN dat__set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	struct backend *b;
	struct obj *obj = obj_enter_any(handle, &b);

	if (!obj)
		return BAD_HANDLE;
	obj->context = context;
	return obj_leave_asked(b, obj, "dat_set_consumer_context", DAT_SUCCESS);
}

DAT_RETURN dat__get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	struct backend *b;
	struct obj *obj = obj_enter_any(handle, &b);

	if (!obj)
		return BAD_HANDLE;
	if (!context)
		return obj_leave(b, obj, "dat_get_consumer_context", BAD_ARG(2));
	*context = obj->context;
	return obj_leave_asked(b, obj, "dat_get_consumer_context", DAT_SUCCESS);
}

DAT_RETURN dat__get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	struct backend *b;
	struct obj *obj = obj_enter_any(handle, &b);

	if (!obj)
		return BAD_HANDLE;
	if (!type)
		return obj_leave(b, obj, "dat_get_handle_type", BAD_ARG(2));
	*type = (DAT_HANDLE_TYPE)obj->type;
	return obj_leave_asked(b, obj, "dat_get_handle_type", DAT_SUCCESS);
}
