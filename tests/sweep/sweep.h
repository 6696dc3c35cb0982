/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tests/sweep/sweep.h - every documented return code of every call, provoked.
 *
 * A row names the call, the type and subtype that it has to return, and a function that prepares
 * the situation and makes the call. The test case is called CALL/TYPE/FUNCTION; by this name
 * tests/conformance finds that a code of tests/conformance/codes.tsv was provoked.
 */
#ifndef TESTS_SWEEP_SWEEP_H
#define TESTS_SWEEP_SWEEP_H

#include "tests/support/support.h"

struct sweep_row {
	const char *name;
	DAT_UINT32 type, subtype;
	DAT_RETURN (*provoke)(void);
};

struct sweep_table {
	const struct sweep_row *rows;
	size_t count;
};

/* ROW(dat_pz_free, INVALID_STATE, INVALID_STATE_PZ_IN_USE, with_a_region) */
#define ROW(call, type, subtype, how)                                        \
	{                                                                    \
#call "/DAT_" #type "/" #how, DAT_##type, DAT_##subtype, how \
	}
/* If no ruling and no header names a subtype */
#define ROW_ANY(call, type, how)                                           \
	{                                                                  \
#call "/DAT_" #type "/" #how, DAT_##type, ANY_SUBTYPE, how \
	}
/* A bad argument: the subtype is the argument's number. */
#define ROW_ARG(call, n, how) ROW(call, INVALID_PARAMETER, INVALID_ARG##n, how)

#define SWEEP_TABLE(name) const struct sweep_table name = { rows, COUNT(rows) }

/*
 * A call that has to fail and to change nothing. Equal before and after it are the counts of
 * objects, the results of queries on the endpoints, queues and dispatchers of both sides, and the
 * packets in flight; and no output in `out` is written.
 */
#define TRY(call) (sweep_before(), sweep_after(#call, (call)))
void sweep_before(void);
DAT_RETURN sweep_after(const char *call, DAT_RETURN ret);

/* A function of one failing call, without preparation beside the fixture. */
#define PROVOKE(how, call)          \
	static DAT_RETURN how(void) \
	{                           \
		return TRY(call);   \
	}

/* Outputs of failing calls */
extern union sweep_out {
	DAT_HANDLE handle;
	DAT_CONN_QUAL qual;
	DAT_IA_ATTR ia;
	DAT_PROVIDER_ATTR provider;
	DAT_PZ_PARAM pz;
	DAT_LMR_PARAM lmr;
	DAT_RMR_PARAM rmr;
	DAT_EVD_PARAM evd;
	DAT_CNO_PARAM cno;
	DAT_EP_PARAM ep;
	DAT_PSP_PARAM psp;
	DAT_RSP_PARAM rsp;
	DAT_CR_PARAM cr;
	DAT_SRQ_PARAM srq;
	DAT_EVENT event;
	DAT_CONTEXT context;
	DAT_HANDLE_TYPE type;
	struct {
		DAT_HANDLE handle;
		DAT_LMR_CONTEXT lmr;
		DAT_RMR_CONTEXT rmr;
		DAT_VLEN length;
		DAT_VADDR address;
		DAT_COUNT count, count2;
		DAT_EP_STATE state;
		DAT_BOOLEAN idle[2];
		const char *text[2];
	} more;
	unsigned char bytes[1024];
} out;

/* A call that is repeated until it reaches its limit; the fixture frees the objects. */
#define UNTIL_REFUSED(ret, call)                        \
	do {                                            \
		DAT_HANDLE made;                        \
		while (((ret) = (call)) == DAT_SUCCESS) \
			;                               \
	} while (0)

extern const struct sweep_table sweep_ia, sweep_helpers, sweep_registry, sweep_pz, sweep_lmr,
	sweep_evd, sweep_cno, sweep_rdma, sweep_full, sweep_rmr, sweep_ep, sweep_connect, sweep_dto,
	sweep_sp, sweep_cr, sweep_srq;

#endif /* TESTS_SWEEP_SWEEP_H */
