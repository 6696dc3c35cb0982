/* SPDX-License-Identifier: BSD-3-Clause */
/* The MTU of a path: how long packets are, in the trace, and two ends with different ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/support.h"
#include "verbs_pair.h"

#define LENGTH 8192

static struct verbs_end a, b;

static void begin_with(enum ibv_qp_type type, enum ibv_mtu of_a, enum ibv_mtu of_b)
{
	struct ibv_qp_attr attr;

	verbs_open(&a, 0);
	verbs_open(&b, 1);
	a.type = b.type = type;
	verbs_make_qp(&a);
	verbs_make_qp(&b);
	for (int i = IBV_QPS_INIT; i <= IBV_QPS_RTS; i++) {
		attr = verbs_attr(&a, &b);
		attr.qp_state = (enum ibv_qp_state)i;
		attr.path_mtu = of_a;
		ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, verbs_mask_of(type, attr.qp_state)), 0);
		attr = verbs_attr(&b, &a);
		attr.qp_state = (enum ibv_qp_state)i;
		attr.path_mtu = of_b;
		ck_assert_int_eq(ibv_modify_qp(b.qp, &attr, verbs_mask_of(type, attr.qp_state)), 0);
	}
}

/* What a Send, a Write or a Read of this length comes to. */
static enum ibv_wc_status try_length(enum ibv_wr_opcode opcode, uint32_t length)
{
	struct ibv_wc wc;

	if (opcode == IBV_WR_SEND)
		ck_assert_int_eq(verbs_recv(&b, 1, 0, LENGTH), 0);
	memset(a.buffer, 'a', LENGTH);
	memset(b.buffer, 'b', LENGTH);
	ck_assert_int_eq(verbs_send(&a, &b, opcode, length, 0), 0);
	ck_assert(verbs_poll(&a, &wc));
	if (wc.status == IBV_WC_SUCCESS)
		ck_assert_mem_eq(a.buffer, b.buffer, length);
	return wc.status;
}

/* ---- in the trace ---- */

static const enum ibv_mtu codes[] = { IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048,
				      IBV_MTU_4096 };

/* Packets of this kind in the trace, none of which is longer than `most`. */
static int count_packets(const char *file, const char *op, unsigned long most)
{
	char line[512], *bytes;
	FILE *trace = fopen(file, "r");
	int n = 0;

	ck_assert_ptr_nonnull(trace);
	while (fgets(line, sizeof(line), trace)) {
		if (!strstr(line, " packet to=") || !strstr(line, op))
			continue;
		bytes = strstr(line, "bytes=");
		ck_assert_ptr_nonnull(bytes);
		ck_assert_uint_le(strtoul(bytes + 6, NULL, 10), most);
		n++;
	}
	fclose(trace);
	return n;
}

START_TEST(packets_are_as_long_as_the_mtu_of_the_path)
{
	static const struct {
		enum ibv_qp_type type;
		enum ibv_wr_opcode opcode;
		const char *op;
	} ways[] = { { IBV_QPT_RC, IBV_WR_SEND, "op=SEND_" },
		     { IBV_QPT_RC, IBV_WR_RDMA_WRITE, "op=WRITE_" },
		     { IBV_QPT_RC, IBV_WR_RDMA_READ, "op=READ_RESPONSE_" },
		     { IBV_QPT_UC, IBV_WR_RDMA_WRITE, "op=UC_WRITE_" } };
	const unsigned long mtu = 128ul << codes[_i % 5];
	char file[64];

	snprintf(file, sizeof(file), "verbs_mtu.%d.trace", (int)getpid());
	setenv("DATSIM_TRACE", file, 1);
	/* A packet for each line: a rule that never acts observes single packets. */
	setenv("DATSIM_FAULTS", "packets=SEND|WRITE|READ_RESPONSE nth=1000000 verdict=drop", 1);
	begin_with(ways[_i / 5].type, codes[_i % 5], codes[_i % 5]);
	ck_assert_int_eq((int)try_length(ways[_i / 5].opcode, LENGTH), (int)IBV_WC_SUCCESS);
	verbs_end_all(&a, &b);
	unsetenv("DATSIM_FAULTS");
	unsetenv("DATSIM_TRACE");
	ck_assert_int_eq(count_packets(file, ways[_i / 5].op, mtu), (int)(LENGTH / mtu));
	unlink(file);
}
END_TEST

/* ---- two that differ ---- */

START_TEST(what_fits_into_the_smaller_mtu_arrives)
{
	begin_with(IBV_QPT_RC, codes[_i], codes[4 - _i]);
	for (int opcode = 0; opcode < 3; opcode++)
		ck_assert_int_eq((int)try_length(opcode == 0   ? IBV_WR_SEND
						 : opcode == 1 ? IBV_WR_RDMA_WRITE
							       : IBV_WR_RDMA_READ,
						 256),
				 (int)IBV_WC_SUCCESS);
	verbs_end_all(&a, &b);
}
END_TEST

START_TEST(different_mtus_refuse_longer_messages)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		enum ibv_wc_status status;
	} rows[] = { { IBV_WR_SEND, IBV_WC_REM_INV_REQ_ERR },
		     { IBV_WR_RDMA_WRITE, IBV_WC_REM_INV_REQ_ERR },
		     { IBV_WR_RDMA_READ, IBV_WC_BAD_RESP_ERR } };

	begin_with(IBV_QPT_RC, _i % 2 ? IBV_MTU_512 : IBV_MTU_1024,
		   _i % 2 ? IBV_MTU_1024 : IBV_MTU_512);
	/* 600 bytes are one packet of one of them, and two of the other. */
	ck_assert_int_eq((int)try_length(rows[_i / 4].opcode, _i % 4 < 2 ? 600 : 4096),
			 (int)rows[_i / 4].status);
	verbs_end_all(&a, &b);
}
END_TEST

/* A message of two packets is dropped even if it fits into one of the receiver's. */
START_TEST(different_mtus_drop_longer_messages_of_type_uc)
{
	begin_with(IBV_QPT_UC, _i ? IBV_MTU_512 : IBV_MTU_1024, _i ? IBV_MTU_1024 : IBV_MTU_512);
	memset(b.buffer, 'b', LENGTH);
	memset(a.buffer, 'a', LENGTH);
	for (uint32_t length = 600; length <= 4096; length += 3496) {
		struct ibv_wc wc;

		ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_RDMA_WRITE, length, 0), 0);
		ck_assert(verbs_poll(&a, &wc) && wc.status == IBV_WC_SUCCESS);
		ck_assert_int_eq(b.buffer[0], 'b');
	}
	ck_assert_int_eq((int)try_length(IBV_WR_RDMA_WRITE, 512), (int)IBV_WC_SUCCESS);
	verbs_end_all(&a, &b);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, packets_are_as_long_as_the_mtu_of_the_path, 20, NULL);
	unit_add(suite, what_fits_into_the_smaller_mtu_arrives, 5, NULL);
	unit_add(suite, different_mtus_refuse_longer_messages, 12, NULL);
	unit_add(suite, different_mtus_drop_longer_messages_of_type_uc, 2, NULL);
}

UNIT_SUITE("verbs_mtu")
