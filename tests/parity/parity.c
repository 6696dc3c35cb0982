/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The code that all scenarios share, and main: each scenario is a process of its own, so that none
 * disturbs the next.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parity.h"

#define SCENARIO_SECONDS 300
#define USUAL            4 /* of the lists in main; the others run by name only */

struct side a, b;
DAT_CONN_QUAL qual;

static const char *scenario = "?";

/* ---- facts ---- */

void fact(const char *name, const char *format, ...)
{
	va_list args;

	printf("%s.%s ", scenario, name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

/* The names without their explanations */
static const char *ret_text(DAT_RETURN ret)
{
	static char text[128];
	const char *major = "?", *minor = "";

	if (dat_strerror(ret, &major, &minor) != DAT_SUCCESS)
		snprintf(text, sizeof(text), "0x%08x", (unsigned int)ret);
	else if (DAT_GET_SUBTYPE(ret) == DAT_NO_SUBTYPE)
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(major, ":"), major);
	else
		snprintf(text, sizeof(text), "%.*s | %.*s", (int)strcspn(major, ":"), major,
			 (int)strcspn(minor, ":"), minor);
	return text;
}

void fact_ret(const char *name, DAT_RETURN ret)
{
	fact(name, "%s", ret_text(ret));
}

void must_(DAT_RETURN ret, const char *call)
{
	if (ret == DAT_SUCCESS)
		return;
	fact("stopped", "at %s: %s", call, ret_text(ret));
	exit(1);
}

/* ---- events ---- */

bool take(DAT_EVD_HANDLE evd, DAT_TIMEOUT us, DAT_EVENT *event)
{
	DAT_COUNT nmore;

	return dat_evd_wait(evd, us, 1, event, &nmore) == DAT_SUCCESS;
}

static const char *status_name(DAT_DTO_COMPLETION_STATUS status)
{
	static const char *const names[] = { "SUCCESS",          "FLUSHED",
					     "LOCAL_LENGTH",     "LOCAL_EP",
					     "LOCAL_PROTECTION", "BAD_RESPONSE",
					     "REMOTE_ACCESS",    "REMOTE_RESPONDER",
					     "TRANSPORT",        "RECEIVER_NOT_READY",
					     "PARTIAL_PACKET",   "RMR_OPERATION_FAILED" };

	return (size_t)status < sizeof(names) / sizeof(names[0]) ? names[status] : "?";
}

static const char *event_name(DAT_EVENT_NUMBER number)
{
	static const struct {
		DAT_EVENT_NUMBER number;
		const char *name;
	} names[] = {
		{ DAT_CONNECTION_REQUEST_EVENT, "CONNECTION_REQUEST" },
		{ DAT_CONNECTION_EVENT_ESTABLISHED, "ESTABLISHED" },
		{ DAT_CONNECTION_EVENT_PEER_REJECTED, "PEER_REJECTED" },
		{ DAT_CONNECTION_EVENT_NON_PEER_REJECTED, "NON_PEER_REJECTED" },
		{ DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, "ACCEPT_COMPLETION_ERROR" },
		{ DAT_CONNECTION_EVENT_DISCONNECTED, "DISCONNECTED" },
		{ DAT_CONNECTION_EVENT_BROKEN, "BROKEN" },
		{ DAT_CONNECTION_EVENT_TIMED_OUT, "TIMED_OUT" },
		{ DAT_CONNECTION_EVENT_UNREACHABLE, "UNREACHABLE" },
		{ DAT_ASYNC_ERROR_EVD_OVERFLOW, "EVD_OVERFLOW" },
		{ DAT_ASYNC_ERROR_IA_CATASTROPHIC, "IA_CATASTROPHIC" },
		{ DAT_ASYNC_SRQ_LOW_WATERMARK, "SRQ_LOW_WATERMARK" },
		{ DAT_ASYNC_EP_SOFT_HIGH_WATERMARK, "EP_SOFT_HIGH_WATERMARK" },
		{ DAT_SOFTWARE_EVENT, "SOFTWARE" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].number == number)
			return names[i].name;
	return "?";
}

static const char *event_text(const DAT_EVENT *event)
{
	static char text[128];

	if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		snprintf(text, sizeof(text), "DTO %s %lu",
			 status_name(event->event_data.dto_completion_event_data.status),
			 (unsigned long)
				 event->event_data.dto_completion_event_data.transfered_length);
	else if (event->event_number == DAT_RMR_BIND_COMPLETION_EVENT)
		snprintf(text, sizeof(text), "BIND %s",
			 status_name(event->event_data.rmr_completion_event_data.status));
	else
		snprintf(text, sizeof(text), "%s", event_name(event->event_number));
	return text;
}

void fact_event(const char *name, DAT_EVD_HANDLE evd, DAT_TIMEOUT us)
{
	DAT_EVENT event;

	fact(name, "%s", take(evd, us, &event) ? event_text(&event) : "nothing");
}

void fact_completions(const char *name, DAT_EVD_HANDLE evd, int n)
{
	char all[512] = "", last[128] = "";
	size_t length = 0;
	DAT_EVENT event;
	int same = 0;

	for (int i = 0; i <= n; i++) {
		const char *text = i < n && take(evd, WAIT_US, &event) ? event_text(&event) : "";

		if (strcmp(text, last) == 0) {
			same++;
			continue;
		}
		if (same > 0 && last[0])
			length += (size_t)snprintf(all + length, sizeof(all) - length, "%s%s x%d",
						   length ? ", " : "", last, same);
		snprintf(last, sizeof(last), "%s", text);
		same = 1;
		if (!text[0])
			break;
	}
	fact(name, "%s", all[0] ? all : "nothing");
}

const char *state_name(DAT_EP_HANDLE ep)
{
	static const struct {
		DAT_EP_STATE state;
		const char *name;
	} names[] = { { DAT_EP_STATE_UNCONNECTED, "UNCONNECTED" },
		      { DAT_EP_STATE_CONNECTED, "CONNECTED" },
		      { DAT_EP_STATE_DISCONNECT_PENDING, "DISCONNECT_PENDING" },
		      { DAT_EP_STATE_DISCONNECTED, "DISCONNECTED" },
		      { DAT_EP_STATE_RESERVED, "RESERVED" },
		      { DAT_EP_STATE_COMPLETION_PENDING, "COMPLETION_PENDING" },
		      { DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, "PASSIVE_CONNECTION_PENDING" } };
	DAT_EP_STATE state;

	if (dat_ep_get_status(ep, &state, NULL, NULL) != DAT_SUCCESS)
		return "none";
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].state == state)
			return names[i].name;
	return "?";
}

/* ---- the two sides ---- */

static DAT_EVD_HANDLE make_evd(struct side *side, int flags)
{
	DAT_EVD_HANDLE evd;

	must(dat_evd_create(side->ia, 64, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)flags, &evd));
	return evd;
}

static void side_open(struct side *side, char *adapter)
{
	DAT_REGION_DESCRIPTION region = { .for_va = side->memory };
	DAT_VLEN size;
	DAT_VADDR addr;

	side->async = DAT_HANDLE_NULL;
	must(dat_ia_open(adapter, 8, &side->async, &side->ia));
	side->recv = make_evd(side, DAT_EVD_DTO_FLAG);
	side->request = make_evd(side, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	side->connect = make_evd(side, DAT_EVD_CONNECTION_FLAG);
	side->cr = make_evd(side, DAT_EVD_CR_FLAG);
	must(dat_pz_create(side->ia, &side->pz));
	must(dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(side->memory), side->pz,
			    DAT_MEM_PRIV_ALL_FLAG, &side->lmr, &side->context, &side->rmr_context,
			    &size, &addr));
}

DAT_IA_ADDRESS_PTR address_of(struct side *side)
{
	static DAT_IA_ATTR attr;

	must(dat_ia_query(side->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	return attr.ia_address_ptr;
}

DAT_EP_ATTR attributes(void)
{
	DAT_EP_ATTR attr = { .service_type = DAT_SERVICE_TYPE_RC,
			     .max_recv_dtos = SLOTS,
			     .max_request_dtos = SLOTS,
			     .max_recv_iov = 2,
			     .max_request_iov = 2,
			     .max_rdma_read_in = 2,
			     .max_rdma_read_out = 2,
			     .max_rdma_read_iov = 1,
			     .max_rdma_write_iov = 2,
			     .srq_soft_hw = DAT_HW_DEFAULT };

	return attr;
}

void make_eps(const DAT_EP_ATTR *a_attr, const DAT_EP_ATTR *b_attr)
{
	must(dat_ep_create(a.ia, a.pz, a.recv, a.request, a.connect, a_attr, &a.ep));
	if (b.srq)
		must(dat_ep_create_with_srq(b.ia, b.pz, b.recv, b.request, b.connect, b.srq, b_attr,
					    &b.ep));
	else
		must(dat_ep_create(b.ia, b.pz, b.recv, b.request, b.connect, b_attr, &b.ep));
}

void connect_eps(void)
{
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	qual++;
	must(dat_psp_create(b.ia, qual, b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	must(dat_ep_connect(a.ep, address_of(&b), qual, WAIT_US, 0, NULL, DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG));
	if (!take(b.cr, WAIT_US, &event)) {
		fact("stopped", "no connection request");
		exit(1);
	}
	must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, b.ep, 0, NULL));
	if (!take(a.connect, WAIT_US, &event) ||
	    event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED ||
	    !take(b.connect, WAIT_US, &event) ||
	    event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED) {
		fact("stopped", "no connection");
		exit(1);
	}
	must(dat_psp_free(psp));
}

void plain_pair(void)
{
	DAT_EP_ATTR attr = attributes();

	make_eps(&attr, &attr);
	connect_eps();
}

void srq_pair(DAT_COUNT size)
{
	DAT_SRQ_ATTR srq = { .max_recv_dtos = size, .max_recv_iov = 1 };
	DAT_EP_ATTR attr = attributes(), with_srq = attributes();

	must(dat_srq_create(b.ia, b.pz, &srq, &b.srq));
	with_srq.max_recv_dtos = DAT_HW_DEFAULT;
	make_eps(&attr, &with_srq);
	connect_eps();
}

/* ---- data ---- */

DAT_LMR_TRIPLET segment(struct side *side, int slot, DAT_VLEN length)
{
	DAT_LMR_TRIPLET t = { .lmr_context = side->context,
			      .virtual_address = (uintptr_t)side->memory + (size_t)slot * SLOT_SIZE,
			      .segment_length = length };

	return t;
}

DAT_RETURN post_recv(struct side *side, int slot)
{
	DAT_LMR_TRIPLET iov = segment(side, slot, SLOT_SIZE);
	DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)slot };

	return dat_ep_post_recv(side->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN post_srq(int slot)
{
	DAT_LMR_TRIPLET iov = segment(&b, slot, SLOT_SIZE);
	DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)slot };

	return dat_srq_post_recv(b.srq, 1, &iov, cookie);
}

DAT_RETURN post_send(struct side *side, int slot, DAT_VLEN length, int flags)
{
	DAT_LMR_TRIPLET iov = segment(side, slot, length);
	DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)slot };

	return dat_ep_post_send(side->ep, 1, &iov, cookie, (DAT_COMPLETION_FLAGS)flags);
}

/* ---- main ---- */

static void run(const struct scenario *s, char **argv)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		alarm(SCENARIO_SECONDS);
		scenario = s->name;
		qual = (DAT_CONN_QUAL)(10000 + getpid() % 20000);
		side_open(&a, argv[1]);
		side_open(&b, argv[2]);
		s->run();
		must(dat_ia_close(a.ia, DAT_CLOSE_ABRUPT_FLAG));
		must(dat_ia_close(b.ia, DAT_CLOSE_ABRUPT_FLAG));
		fact("done", "yes");
		exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf("%s.killed signal %d\n", s->name, WTERMSIG(status));
}

static bool wanted(const char *name, char **argv, bool usual)
{
	if (!argv[3])
		return usual;
	for (int i = 3; argv[i]; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	static const struct scenario *const all[] = { connection_scenarios, message_scenarios,
						      queue_scenarios,      event_scenarios,
						      named_scenarios,      wire_scenarios,
						      churn_scenarios };

	if (argc < 3) {
		fputs("usage: parity ADAPTER-A ADAPTER-B [SCENARIO...]\n", stderr);
		return 2;
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (const struct scenario *s = all[i]; s->name; s++)
			if (wanted(s->name, argv, i < USUAL))
				run(s, argv);
	return 0;
}
