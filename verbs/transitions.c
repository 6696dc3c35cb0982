/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transitions.c - the attributes that each transition of a QP of type UC or UD needs and allows;
 * qp_state.c has those of type RC.
 */
#include "vb.h"

#define PORT_AND_PKEY (IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define ALTERNATE     (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)
#define UC_FIRST      (PORT_AND_PKEY | IBV_QP_ACCESS_FLAGS)
#define UD_FIRST      (PORT_AND_PKEY | IBV_QP_QKEY)
#define UC_LATER      (IBV_QP_CUR_STATE | ALTERNATE | IBV_QP_ACCESS_FLAGS)
#define UD_LATER      (IBV_QP_CUR_STATE | IBV_QP_QKEY)

#define TO_RESET [IBV_QPS_RESET] = { true, 0, 0 }
#define TO_END   TO_RESET, [IBV_QPS_ERR] = { true, 0, 0 }

typedef struct vb_transition vb_transitions[IBV_QPS_ERR + 1][IBV_QPS_ERR + 1];

static const vb_transitions uc = {
	[IBV_QPS_RESET] = { TO_RESET, [IBV_QPS_INIT] = { true, UC_FIRST, 0 } },
	[IBV_QPS_INIT] = { TO_END, [IBV_QPS_INIT] = { true, 0, UC_FIRST },
			   [IBV_QPS_RTR] = { true,
					     IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
						     IBV_QP_RQ_PSN,
					     IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS |
						     IBV_QP_PKEY_INDEX } },
	[IBV_QPS_RTR] = { TO_END, [IBV_QPS_RTS] = { true, IBV_QP_SQ_PSN, UC_LATER } },
	[IBV_QPS_RTS] = { TO_END, [IBV_QPS_RTS] = { true, 0, UC_LATER },
			  [IBV_QPS_SQD] = { true, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY } },
	[IBV_QPS_SQD] = { TO_END, [IBV_QPS_RTS] = { true, 0, UC_LATER },
			  [IBV_QPS_SQD] = { true, 0,
					    IBV_QP_AV | ALTERNATE | IBV_QP_ACCESS_FLAGS |
						    IBV_QP_PKEY_INDEX } },
	[IBV_QPS_SQE] = { TO_END, [IBV_QPS_RTS] = { true, 0,
						    IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS } },
	[IBV_QPS_ERR] = { TO_END },
};

static const vb_transitions ud = {
	[IBV_QPS_RESET] = { TO_RESET, [IBV_QPS_INIT] = { true, UD_FIRST, 0 } },
	[IBV_QPS_INIT] = { TO_END, [IBV_QPS_INIT] = { true, 0, UD_FIRST },
			   [IBV_QPS_RTR] = { true, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY } },
	[IBV_QPS_RTR] = { TO_END, [IBV_QPS_RTS] = { true, IBV_QP_SQ_PSN, UD_LATER } },
	[IBV_QPS_RTS] = { TO_END, [IBV_QPS_RTS] = { true, 0, UD_LATER },
			  [IBV_QPS_SQD] = { true, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY } },
	[IBV_QPS_SQD] = { TO_END, [IBV_QPS_RTS] = { true, 0, UD_LATER },
			  [IBV_QPS_SQD] = { true, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY } },
	[IBV_QPS_SQE] = { TO_END, [IBV_QPS_RTS] = { true, 0, UD_LATER } },
	[IBV_QPS_ERR] = { TO_END },
};

const struct vb_transition *vb_transition_unreliable(enum ibv_qp_type type, enum ibv_qp_state from,
						     enum ibv_qp_state to)
{
	if (type == IBV_QPT_UC)
		return &uc[from][to];
	return type == IBV_QPT_UD ? &ud[from][to] : NULL;
}
