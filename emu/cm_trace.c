/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trace lines of connection management.
 */
#include <stdio.h>

#include "cm.h"
#include "qp.h"
#include "emu/fabric/trace.h"
#include "emu/wire/wire.h"
#include "emu/fabric/adapter.h"

/* " reads_in=8 reads_out=8 private=0a1b": the values of the last packet. */
#define PARAM_TEXT (2 * EMU_PRIVATE_DATA + 80)

static void param_text(const struct emu_conn *conn, char text[PARAM_TEXT])
{
	static const char digits[] = "0123456789abcdef";
	char qpn[24] = "";
	size_t n;

	if (conn->by.qp)
		snprintf(qpn, sizeof(qpn), " qpn=%u", conn->by.qp);
	n = (size_t)snprintf(text, PARAM_TEXT, "%s reads_in=%u reads_out=%u%s", qpn, conn->rd_in,
			     conn->rd_out, conn->size ? " private=" : "");

	/* Another process may have written any size. */
	for (uint32_t i = 0; i < conn->size && i < EMU_PRIVATE_DATA; i++) {
		text[n++] = digits[conn->data[i] >> 4];
		text[n++] = digits[conn->data[i] & 15];
	}
	text[n] = '\0';
}

/* Only librdmacm connects QPs by number. */
static const char *active_noun(const struct emu_conn *conn)
{
	return emu_trace_noun(conn->by_number ? NIC_NOUN_ID : NIC_NOUN_EP);
}

static uint32_t first_psn(const struct emu_conn *conn, const struct emu_qp *qp)
{
	return conn->by.qp ? conn->by.psn : emu_wire_first_psn(qp);
}

EMU_COLD void emu_cm_trace_request(struct emu_world *w, const struct emu_conn *conn)
{
	const struct emu_qp *qp = emu_qp_at(w, conn->qp);
	char psn[24] = "", param[PARAM_TEXT];

	if (qp->epoch == conn->epoch)
		snprintf(psn, sizeof(psn), " psn=%u", first_psn(conn, qp));
	param_text(conn, param);
	emu_trace_line(w, EMU_QP " packet to=%s op=CM_REQ qual=%lu%s%s",
		       emu_adapter_name(w, conn->from), active_noun(conn), conn->name,
		       emu_adapter_name(w, conn->to), conn->port, psn, param);
}

EMU_COLD void emu_cm_trace_reply(struct emu_world *w, const struct emu_conn *conn, uint32_t outcome)
{
	static const char *const reasons[] = { [NIC_END_REJECTED] = " reason=REJECTED",
					       [NIC_END_NO_LISTENER] = " reason=NO_LISTENER",
					       [NIC_END_UNREACHABLE] = " reason=UNREACHABLE" };
	const struct emu_qp *qp = conn->passive_qp ? emu_qp_at(w, conn->passive_qp) : NULL;
	char end[24] = "", more[32] = "", param[PARAM_TEXT] = "";

	if (outcome) {
		if (outcome - 1 < sizeof(reasons) / sizeof(reasons[0]) && reasons[outcome - 1])
			snprintf(more, sizeof(more), "%s", reasons[outcome - 1]);
	} else if (qp && qp->epoch == conn->passive_epoch) {
		snprintf(end, sizeof(end), ".%s%u", emu_trace_noun(qp->noun), qp->name);
		snprintf(more, sizeof(more), " psn=%u", first_psn(conn, qp));
	}
	if (!outcome)
		param_text(conn, param);
	emu_trace_line(w, "%s%s packet to=" EMU_QP " op=%s%s%s", emu_adapter_name(w, conn->to), end,
		       emu_adapter_name(w, conn->from), active_noun(conn), conn->name,
		       outcome ? "CM_REJ" : "CM_REP", more, param);
}
