/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts, handle types, texts. */
#include "tests/sweep/sweep.h"

PROVOKE(context_no_output, dat_get_consumer_context(w.a.pz, NULL))
PROVOKE(type_no_output, dat_get_handle_type(w.a.pz, NULL))
PROVOKE(text_of_no_type,
	dat_strerror(DAT_CLASS_ERROR | 0x3fff0000, &out.more.text[0], &out.more.text[1]))
PROVOKE(text_of_no_subtype, dat_strerror(DAT_CLASS_ERROR | DAT_INVALID_STATE | 0xffff,
					 &out.more.text[0], &out.more.text[1]))
PROVOKE(text_no_output, dat_strerror(DAT_SUCCESS, NULL, &out.more.text[1]))
PROVOKE(text_no_second_output, dat_strerror(DAT_SUCCESS, &out.more.text[0], NULL))

static DAT_RETURN text_of_a_failure(void)
{
	return dat_strerror(DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA,
			    &out.more.text[0], &out.more.text[1]);
}

static const struct sweep_row rows[] = {
	ROW(dat_strerror, SUCCESS, NO_SUBTYPE, text_of_a_failure),
	ROW_ARG(dat_get_consumer_context, 2, context_no_output),
	ROW_ARG(dat_get_handle_type, 2, type_no_output),
	ROW_ANY(dat_strerror, INVALID_PARAMETER, text_of_no_type),
	ROW_ANY(dat_strerror, INVALID_PARAMETER, text_of_no_subtype),
	ROW_ARG(dat_strerror, 2, text_no_output),
	ROW_ARG(dat_strerror, 3, text_no_second_output),
};

SWEEP_TABLE(sweep_helpers);
