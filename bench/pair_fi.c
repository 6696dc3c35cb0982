/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pair_fi server NAME | pair_fi client NAME ping|rate|bulk|wide - the measurements of pair.c over
 * libfabric's shm provider. The build does not compile it; pair.sh does, if libfabric-dev is
 * installed.
 *
 * Messages have no tag; addresses are exchanged through files. Messages in flight and answers are
 * as in pair.c.
 */
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pair_jobs.h"

static struct fid_ep *ep;
static struct fid_cq *send_cq, *recv_cq;
static struct fid_av *av;
static struct fid_domain *domain;
static fi_addr_t peer;
static uint8_t *memory;
static struct job job;

static void check_call(long ret, const char *call)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "pair_fi: %s: %s\n", call, fi_strerror((int)-ret));
	exit(1);
}

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int dequeue_one(struct fid_cq *cq)
{
	struct fi_cq_entry entry;
	ssize_t n = fi_cq_read(cq, &entry, 1);

	if (n == -FI_EAGAIN)
		return 0;
	check_call(n, "fi_cq_read");
	return 1;
}

static void poll_for(struct fid_cq *cq)
{
	while (!dequeue_one(cq))
		;
}

static void post_send(uint32_t n, uint32_t bytes)
{
	uint8_t *from = memory + (size_t)(n % job.buffers) * job.bytes;
	ssize_t ret;

	do
		ret = fi_send(ep, from, bytes, NULL, peer, NULL);
	while (ret == -FI_EAGAIN && (fi_cq_read(recv_cq, NULL, 0), 1));
	check_call(ret, "fi_send");
}

static void post_recv(uint32_t n)
{
	uint8_t *to = memory + (size_t)(job.buffers + n % job.buffers) * job.bytes;

	check_call(fi_recv(ep, to, job.bytes, NULL, FI_ADDR_UNSPEC, NULL), "fi_recv");
}

static uint32_t sent_done, sent_all;

static void reap_sends(void)
{
	while (sent_done < sent_all && dequeue_one(send_cq))
		sent_done++;
}

static void run_ping(uint32_t messages, int first)
{
	for (uint32_t i = 0; i < messages; i++) {
		if (first)
			post_send(i, job.bytes);
		poll_for(recv_cq);
		post_recv(i);
		if (!first)
			post_send(i, job.bytes);
		poll_for(send_cq);
	}
}

static void run_stream(uint32_t messages)
{
	uint32_t half = job.in_flight / 2, sent = 0, answered = 0;

	while (answered < messages) {
		while (sent < messages && sent - answered < job.in_flight) {
			post_send(sent++, job.bytes);
			sent_all++;
			reap_sends();
		}
		poll_for(recv_cq);
		post_recv(answered / half);
		answered += half;
	}
	while (sent_done < sent_all)
		reap_sends();
}

static void run_sink(uint32_t messages)
{
	uint32_t half = job.in_flight / 2;

	for (uint32_t i = 1; i <= messages; i++) {
		poll_for(recv_cq);
		post_recv(i);
		if (i % half == 0) {
			post_send(i / half, SMALL);
			sent_all++;
		}
		reap_sends();
	}
	while (sent_done < sent_all)
		reap_sends();
}

static void run_job(uint32_t messages, int client)
{
	if (job.in_flight == 1)
		run_ping(messages, client);
	else if (client)
		run_stream(messages);
	else
		run_sink(messages);
}

static void open_all(void)
{
	struct fi_info *hints = fi_allocinfo(), *info;
	struct fi_cq_attr cq_attr = { .size = 4 * IN_FLIGHT_MAX, .format = FI_CQ_FORMAT_CONTEXT };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fid_fabric *fabric;

	hints->caps = FI_MSG;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("shm");
	hints->domain_attr->mr_mode = FI_MR_BASIC;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	check_call(fi_getinfo(FI_VERSION(1, 9), NULL, NULL, 0, hints, &info), "fi_getinfo");
	check_call(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	check_call(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	check_call(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
	check_call(fi_cq_open(domain, &cq_attr, &send_cq, NULL), "fi_cq_open");
	check_call(fi_cq_open(domain, &cq_attr, &recv_cq, NULL), "fi_cq_open");
	check_call(fi_av_open(domain, &av_attr, &av, NULL), "fi_av_open");
	check_call(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
	check_call(fi_ep_bind(ep, &send_cq->fid, FI_TRANSMIT), "fi_ep_bind");
	check_call(fi_ep_bind(ep, &recv_cq->fid, FI_RECV), "fi_ep_bind");
	check_call(fi_enable(ep), "fi_enable");
}

/* Each end writes its address into NAME.s or NAME.c, and reads the other end's. */
static void exchange_addresses(const char *name, int client)
{
	char mine[4096], theirs[4096], temporary[4112], addr[256], other[256];
	size_t length = sizeof(addr);
	FILE *file;

	snprintf(mine, sizeof(mine), "%s.%c", name, client ? 'c' : 's');
	snprintf(theirs, sizeof(theirs), "%s.%c", name, client ? 's' : 'c');
	snprintf(temporary, sizeof(temporary), "%s.new", mine);
	check_call(fi_getname(&ep->fid, addr, &length), "fi_getname");
	file = fopen(temporary, "w");
	if (!file || fwrite(&job, sizeof(job), 1, file) != 1 ||
	    fwrite(addr, length, 1, file) != 1 || fclose(file) || rename(temporary, mine)) {
		perror(mine);
		exit(1);
	}
	for (int i = 0; i < 5000 && !(file = fopen(theirs, "r")); i++)
		usleep(1000);
	if (!file) {
		perror(theirs);
		exit(1);
	}
	if (fread(client ? &(struct job){ 0 } : &job, sizeof(job), 1, file) != 1 ||
	    fread(other, 1, sizeof(other), file) == 0)
		exit(1);
	fclose(file);
	if (fi_av_insert(av, other, 1, &peer, 0, NULL) != 1)
		check_call(-FI_EINVAL, "fi_av_insert");
}

static void post_all(void)
{
	size_t size = (size_t)2 * job.buffers * job.bytes;

	memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
	memset(memory, 1, size);
	for (uint32_t i = 0; i < job.in_flight; i++)
		post_recv(i);
}

int main(int argc, char **argv)
{
	int client = argc == 4;
	uint32_t messages;
	double began;

	for (size_t i = 0; client && i < sizeof(jobs) / sizeof(jobs[0]); i++)
		if (strcmp(argv[3], jobs[i].name) == 0)
			job = jobs[i];
	if (argc < 3 || (client && !job.bytes))
		return 2;
	open_all();
	exchange_addresses(argv[2], client);
	post_all();
	messages = job.messages / job.in_flight * job.in_flight;
	run_job(job.messages / 10 / job.in_flight * job.in_flight, client);
	began = now_ns();
	run_job(messages, client);
	began = now_ns() - began;
	if (client && job.in_flight == 1)
		printf("%.1f\n", began / messages / 2);
	else if (client)
		printf("%.0f\n", job.bytes == SMALL ? messages / began * 1e9
						    : (double)job.bytes * messages / began * 1e3);
	return 0;
}
