/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Enhanced connection establishment (ECE): the request names the extensions that the requester's
 * device can do, the answer those that both can, such as another way of retransmission. Between two
 * devices that do not exchange them the extensions are off.
 *
 * Where librdmacm creates the QP it does all of this. Ours is created before there is an id (qp.c),
 * and the passive side's is moved to its states by us (listen.c): that is done here. The active
 * side's takes the answer in librdmacm. A device or library without ECE offers nothing.
 */
#include "cm.h"

#ifdef HAVE_ECE

static bool ece_of(const struct hw_qp *qp, struct ibv_ece *ece)
{
	*ece = (struct ibv_ece){ .vendor_id = 0 };
	return !hw_nic(qp->base.nic)->iwarp && ibv_query_ece(qp->verbs, ece) == 0 &&
	       ece->vendor_id != 0;
}

void hw_ece_put(const struct hw_qp *qp, struct rdma_cm_id *id)
{
	struct ibv_ece ece;

	if (ece_of(qp, &ece))
		rdma_set_local_ece(id, &ece);
}

bool hw_ece_take(const struct hw_qp *qp, struct rdma_cm_id *id)
{
	struct ibv_ece own, wanted = { .vendor_id = 0 };

	if (!ece_of(qp, &own) || rdma_get_remote_ece(id, &wanted) || !wanted.vendor_id)
		return false;
	/* Another vendor's bits mean something else. */
	if (wanted.vendor_id != own.vendor_id)
		wanted = (struct ibv_ece){ .vendor_id = own.vendor_id };
	return ibv_set_ece(qp->verbs, &wanted) == 0;
}

#else /* HAVE_ECE */

void hw_ece_put(const struct hw_qp *qp, struct rdma_cm_id *id)
{
	(void)qp;
	(void)id;
}

bool hw_ece_take(const struct hw_qp *qp, struct rdma_cm_id *id)
{
	(void)qp;
	(void)id;
	return false;
}

#endif /* HAVE_ECE */
