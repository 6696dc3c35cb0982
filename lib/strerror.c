/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strerror.c - dat_strerror: the name of a DAT_RETURN, a colon and a sentence. The texts are
 * static.
 */
#include <stddef.h>

#include "object.h"

struct text {
	DAT_UINT32 value;
	const char *words;
};

#define CLASSES ((DAT_UINT32)DAT_CLASS_ERROR | (DAT_UINT32)DAT_CLASS_WARNING)

#define TEXT(name, words)                           \
	{                                           \
		(DAT_UINT32) name, #name ": " words \
	}

static const struct text types[] = {
	TEXT(DAT_SUCCESS, "the call succeeded"),
	TEXT(DAT_ABORT, "the wait ended because the IA was closed or the EVD destroyed"),
	TEXT(DAT_CONN_QUAL_IN_USE, "another service point listens on this connection qualifier"),
	TEXT(DAT_INSUFFICIENT_RESOURCES, "a limit of the adapter, a full queue, or no memory"),
	TEXT(DAT_INTERNAL_ERROR, "the adapter or its provider failed"),
	TEXT(DAT_INVALID_HANDLE, "the handle was never issued, was freed, or is of another type"),
	TEXT(DAT_INVALID_PARAMETER, "an argument is invalid or out of range"),
	TEXT(DAT_INVALID_STATE, "the state of an object does not allow this call"),
	TEXT(DAT_LENGTH_ERROR, "a length is zero, or exceeds its buffer"),
	TEXT(DAT_MODEL_NOT_SUPPORTED, "legal in DAT, but this provider cannot do it"),
	TEXT(DAT_PROVIDER_NOT_FOUND, "no adapter of this name, version or thread safety"),
	TEXT(DAT_PRIVILEGES_VIOLATION, "the memory region does not exist or lacks the privilege"),
	TEXT(DAT_PROTECTION_VIOLATION, "the protection zones do not match"),
	TEXT(DAT_QUEUE_EMPTY, "there is nothing to dequeue"),
	TEXT(DAT_QUEUE_FULL, "the queue has no room for the event"),
	TEXT(DAT_TIMEOUT_EXPIRED, "the time given for the wait is over"),
	TEXT(DAT_PROVIDER_ALREADY_REGISTERED, "the name is in the registry already"),
	TEXT(DAT_PROVIDER_IN_USE, "the provider has an open IA"),
	TEXT(DAT_INVALID_ADDRESS, "the network address cannot be used"),
	TEXT(DAT_INTERRUPTED_CALL, "a signal ended the wait"),
	TEXT(DAT_CONN_QUAL_UNAVAILABLE, "no connection qualifier is left to pick"),
	TEXT(DAT_NOT_IMPLEMENTED, "this call is not implemented"),
};

static const struct text subtypes[] = {
	TEXT(DAT_NO_SUBTYPE, "no further details"),
	TEXT(DAT_SUB_INTERRUPTED, "by a signal"),
	TEXT(DAT_RESOURCE_MEMORY, "memory"),
	TEXT(DAT_RESOURCE_DEVICE, "the adapter itself"),
	TEXT(DAT_RESOURCE_TEP, "Endpoints, or the work queues of one"),
	TEXT(DAT_RESOURCE_TEVD, "Event Dispatchers, or the length of one"),
	TEXT(DAT_RESOURCE_PROTECTION_DOMAIN, "protection zones"),
	TEXT(DAT_RESOURCE_MEMORY_REGION, "memory regions"),
	TEXT(DAT_RESOURCE_ERROR_HANDLER, "error handlers"),
	TEXT(DAT_RESOURCE_CREDITS, "credits"),
	TEXT(DAT_RESOURCE_SRQ, "Shared Receive Queues, or the entries of one"),
	TEXT(DAT_INVALID_HANDLE_IA, "the handle of an IA was expected"),
	TEXT(DAT_INVALID_HANDLE_EP, "the handle of an EP was expected"),
	TEXT(DAT_INVALID_HANDLE_LMR, "the handle of an LMR was expected"),
	TEXT(DAT_INVALID_HANDLE_RMR, "the handle of an RMR was expected"),
	TEXT(DAT_INVALID_HANDLE_PZ, "the handle of a PZ was expected"),
	TEXT(DAT_INVALID_HANDLE_PSP, "the handle of a PSP was expected"),
	TEXT(DAT_INVALID_HANDLE_RSP, "the handle of an RSP was expected"),
	TEXT(DAT_INVALID_HANDLE_CR, "the handle of a CR was expected"),
	TEXT(DAT_INVALID_HANDLE_CNO, "the handle of a CNO was expected"),
	TEXT(DAT_INVALID_HANDLE_EVD_CR, "an EVD for connection requests was expected"),
	TEXT(DAT_INVALID_HANDLE_EVD_REQUEST, "an EVD for request DTOs was expected"),
	TEXT(DAT_INVALID_HANDLE_EVD_RECV, "an EVD for receive DTOs was expected"),
	TEXT(DAT_INVALID_HANDLE_EVD_CONN, "an EVD for connection events was expected"),
	TEXT(DAT_INVALID_HANDLE_EVD_ASYNC, "an EVD for asynchronous events was expected"),
	TEXT(DAT_INVALID_HANDLE_SRQ, "the handle of an SRQ was expected"),
	TEXT(DAT_INVALID_HANDLE1, "argument 1"),
	TEXT(DAT_INVALID_HANDLE2, "argument 2"),
	TEXT(DAT_INVALID_HANDLE3, "argument 3"),
	TEXT(DAT_INVALID_HANDLE4, "argument 4"),
	TEXT(DAT_INVALID_HANDLE5, "argument 5"),
	TEXT(DAT_INVALID_HANDLE6, "argument 6"),
	TEXT(DAT_INVALID_HANDLE7, "argument 7"),
	TEXT(DAT_INVALID_HANDLE8, "argument 8"),
	TEXT(DAT_INVALID_HANDLE9, "argument 9"),
	TEXT(DAT_INVALID_HANDLE10, "argument 10"),
	TEXT(DAT_INVALID_ARG1, "argument 1"),
	TEXT(DAT_INVALID_ARG2, "argument 2"),
	TEXT(DAT_INVALID_ARG3, "argument 3"),
	TEXT(DAT_INVALID_ARG4, "argument 4"),
	TEXT(DAT_INVALID_ARG5, "argument 5"),
	TEXT(DAT_INVALID_ARG6, "argument 6"),
	TEXT(DAT_INVALID_ARG7, "argument 7"),
	TEXT(DAT_INVALID_ARG8, "argument 8"),
	TEXT(DAT_INVALID_ARG9, "argument 9"),
	TEXT(DAT_INVALID_ARG10, "argument 10"),
	TEXT(DAT_INVALID_STATE_EP_UNCONNECTED, "the Endpoint is unconnected"),
	TEXT(DAT_INVALID_STATE_EP_ACTCONNPENDING,
	     "the Endpoint is waiting for the answer to its connection request"),
	TEXT(DAT_INVALID_STATE_EP_PASSCONNPENDING,
	     "the Endpoint belongs to a pending connection request"),
	TEXT(DAT_INVALID_STATE_EP_TENTCONNPENDING,
	     "the Endpoint is made by the provider for a connection request"),
	TEXT(DAT_INVALID_STATE_EP_CONNECTED, "the Endpoint is connected"),
	TEXT(DAT_INVALID_STATE_EP_DISCONNECTED, "the Endpoint is disconnected"),
	TEXT(DAT_INVALID_STATE_EP_RESERVED, "the Endpoint is reserved by an RSP"),
	TEXT(DAT_INVALID_STATE_EP_COMPLPENDING,
	     "the Endpoint is waiting for its accepted connection"),
	TEXT(DAT_INVALID_STATE_EP_DISCPENDING,
	     "the Endpoint is finishing its requests before it disconnects"),
	TEXT(DAT_INVALID_STATE_EP_PROVIDERCONTROL,
	     "the Endpoint is under the control of the provider"),
	TEXT(DAT_INVALID_STATE_EP_NOTREADY, "the Endpoint is not ready"),
	TEXT(DAT_INVALID_STATE_EP_RECV_WATERMARK, "the Endpoint is over a receive watermark"),
	TEXT(DAT_INVALID_STATE_EP_PZ, "the Endpoint is without a protection zone"),
	TEXT(DAT_INVALID_STATE_EP_EVD_REQUEST, "the Endpoint is without a request EVD"),
	TEXT(DAT_INVALID_STATE_EP_EVD_RECV, "the Endpoint is without a receive EVD"),
	TEXT(DAT_INVALID_STATE_EP_EVD_CONNECT, "the Endpoint is without a connect EVD"),
	TEXT(DAT_INVALID_STATE_EP_UNCONFIGURED, "the Endpoint is unconnected and not configured"),
	TEXT(DAT_INVALID_STATE_EP_UNCONFRESERVED, "the Endpoint is reserved and not configured"),
	TEXT(DAT_INVALID_STATE_EP_UNCONFPASSIVE,
	     "the Endpoint belongs to a pending connection request and is not configured"),
	TEXT(DAT_INVALID_STATE_EP_UNCONFTENTATIVE,
	     "the Endpoint is made for a connection request and not configured"),
	TEXT(DAT_INVALID_STATE_CNO_IN_USE, "the CNO is in use"),
	TEXT(DAT_INVALID_STATE_CNO_DEAD, "the CNO is dead"),
	TEXT(DAT_INVALID_STATE_EVD_OPEN, "the EVD is open"),
	TEXT(DAT_INVALID_STATE_EVD_ENABLED, "the EVD is enabled"),
	TEXT(DAT_INVALID_STATE_EVD_DISABLED, "the EVD is disabled"),
	TEXT(DAT_INVALID_STATE_EVD_WAITABLE, "the EVD is waitable"),
	TEXT(DAT_INVALID_STATE_EVD_UNWAITABLE, "the EVD is unwaitable"),
	TEXT(DAT_INVALID_STATE_EVD_IN_USE, "the EVD is in use, or holds more events than fit"),
	TEXT(DAT_INVALID_STATE_EVD_CONFIG_NOTIFY,
	     "not all completions on the EVD are notifications"),
	TEXT(DAT_INVALID_STATE_EVD_CONFIG_SOLICITED, "the EVD notifies solicited completions"),
	TEXT(DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD, "the EVD notifies by threshold"),
	TEXT(DAT_INVALID_STATE_EVD_WAITER, "a thread waits on the EVD"),
	TEXT(DAT_INVALID_STATE_EVD_ASYNC, "the EVD receives asynchronous events"),
	TEXT(DAT_INVALID_STATE_IA_IN_USE, "the IA has objects left"),
	TEXT(DAT_INVALID_STATE_LMR_IN_USE, "the LMR is in use"),
	TEXT(DAT_INVALID_STATE_LMR_FREE, "the LMR is free"),
	TEXT(DAT_INVALID_STATE_PZ_IN_USE, "the protection zone is in use"),
	TEXT(DAT_INVALID_STATE_PZ_FREE, "the protection zone is free"),
	TEXT(DAT_INVALID_STATE_SRQ_OPERATIONAL,
	     "the SRQ holds more than that, or its low watermark is higher"),
	TEXT(DAT_INVALID_STATE_SRQ_ERROR, "the SRQ is in error"),
	TEXT(DAT_INVALID_STATE_SRQ_IN_USE, "an Endpoint uses the SRQ"),
	TEXT(DAT_PRIVILEGES_READ, "local read"),
	TEXT(DAT_PRIVILEGES_WRITE, "local write"),
	TEXT(DAT_PRIVILEGES_RDMA_READ, "remote read"),
	TEXT(DAT_PRIVILEGES_RDMA_WRITE, "remote write"),
	TEXT(DAT_PROTECTION_READ, "at a local read"),
	TEXT(DAT_PROTECTION_WRITE, "at a local write"),
	TEXT(DAT_PROTECTION_RDMA_READ, "at a remote read"),
	TEXT(DAT_PROTECTION_RDMA_WRITE, "at a remote write"),
	TEXT(DAT_INVALID_ADDRESS_UNSUPPORTED, "the adapter does not support this form of address"),
	TEXT(DAT_INVALID_ADDRESS_UNREACHABLE, "no route to it"),
	TEXT(DAT_INVALID_ADDRESS_MALFORMED, "no host can have this address"),
	TEXT(DAT_NAME_NOT_REGISTERED, "the name is not registered"),
	TEXT(DAT_MAJOR_NOT_FOUND, "the major version does not match"),
	TEXT(DAT_MINOR_NOT_FOUND, "the minor version is newer"),
	TEXT(DAT_THREAD_SAFETY_NOT_FOUND, "the thread safety does not match"),
	TEXT(DAT_INVALID_RO_COOKIE, "a relaxed-ordering cookie"),
};

static const char *strerror_find(const struct text *texts, size_t n, DAT_UINT32 value)
{
	for (size_t i = 0; i < n; i++)
		if (texts[i].value == value)
			return texts[i].words;
	return NULL;
}

DAT_RETURN dat_strerror(DAT_RETURN ret, const char **major_message, const char **minor_message)
{
	const char *major, *minor;

	/* No return is both an error and a warning. */
	if (((DAT_UINT32)ret & CLASSES) == CLASSES)
		return BAD_ARG(1);
	major = strerror_find(types, sizeof(types) / sizeof(types[0]), DAT_GET_TYPE(ret));
	minor = strerror_find(subtypes, sizeof(subtypes) / sizeof(subtypes[0]),
			      DAT_GET_SUBTYPE(ret));
	if (!major || !minor)
		return BAD_ARG(1);
	if (!major_message)
		return BAD_ARG(2);
	if (!minor_message)
		return BAD_ARG(3);
	*major_message = major;
	*minor_message = minor;
	return DAT_SUCCESS;
}
