/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A minimal provider library: adapters of any name that a dat.conf gives, and PZs on them. The
 * first word of the instance data makes it misbehave:
 *
 *	silent         registers nothing
 *	stays          does not take its registration back
 *	opens NAME...  opens adapters in its init, one after the other
 *	refuses        every open
 *	leaves NAME    opens an adapter in its fini, before it takes its registration back
 */
#include <stdlib.h>
#include <string.h>

#include <dat/dat_registry.h>

#include "tests/provider/sample.h"

extern struct sample_log sample_log;
extern void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data);
extern void dat_provider_fini(const DAT_PROVIDER_INFO *info);

struct sample_log sample_log;

struct object {
	DAT_PROVIDER *provider; /* the first word of every handle */
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT context;
};

static DAT_PROVIDER table;
static int refuses; /* opens come on any thread; init and fini come one at a time */

static DAT_HANDLE make(DAT_HANDLE_TYPE type)
{
	struct object *object = calloc(1, sizeof(*object));

	if (!object)
		abort();
	object->provider = &table;
	object->type = type;
	return object;
}

static int starts_with(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

static DAT_RETURN open_ia(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			  DAT_IA_HANDLE *ia)
{
	(void)name;
	(void)qlen;
	if (__atomic_load_n(&refuses, __ATOMIC_RELAXED))
		return (DAT_RETURN)((DAT_UINT32)DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES |
				    DAT_RESOURCE_DEVICE);
	__atomic_add_fetch(&sample_log.opens, 1, __ATOMIC_RELAXED);
	*async = DAT_HANDLE_NULL;
	*ia = make(DAT_HANDLE_TYPE_IA);
	return DAT_SUCCESS;
}

static DAT_RETURN close_ia(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)flags;
	__atomic_add_fetch(&sample_log.closes, 1, __ATOMIC_RELAXED);
	free(ia);
	return DAT_SUCCESS;
}

static DAT_RETURN create_pz(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	(void)ia;
	*pz = make(DAT_HANDLE_TYPE_PZ);
	return DAT_SUCCESS;
}

static DAT_RETURN free_pz(DAT_PZ_HANDLE pz)
{
	free(pz);
	return DAT_SUCCESS;
}

static DAT_RETURN get_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	*type = ((struct object *)handle)->type;
	return DAT_SUCCESS;
}

static DAT_RETURN set_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	((struct object *)handle)->context = context;
	return DAT_SUCCESS;
}

static DAT_RETURN get_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	*context = ((struct object *)handle)->context;
	return DAT_SUCCESS;
}

static void open_another(char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	sample_log.inner = (int)dat_ia_open(name, 8, &async, &ia);
	if (sample_log.inner == DAT_SUCCESS)
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}

static void open_others(const char *names)
{
	char copy[DAT_NAME_MAX_LENGTH] = "", *name, *rest = copy;

	strncpy(copy, names, sizeof(copy) - 1);
	while ((name = strtok_r(rest, " ", &rest)) != NULL)
		open_another(name);
}

static void fill_table(void)
{
	if (table.device_name)
		return;
	table.device_name = "sample";
	table.ia_open_func = open_ia;
	table.ia_close_func = close_ia;
	table.pz_create_func = create_pz;
	table.pz_free_func = free_pz;
	table.get_handle_type_func = get_type;
	table.set_consumer_context_func = set_context;
	table.get_consumer_context_func = get_context;
}

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data)
{
	fill_table();
	__atomic_store_n(&refuses, starts_with(instance_data, "refuses"), __ATOMIC_RELAXED);
	sample_log.inits++;
	sample_log.info = *info;
	free(sample_log.data);
	sample_log.data = strdup(instance_data);
	if (starts_with(instance_data, "opens "))
		open_others(instance_data + strlen("opens "));
	if (!starts_with(instance_data, "silent"))
		dat_registry_add_provider(&table, info);
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	sample_log.finis++;
	sample_log.fini_info = *info;
	if (starts_with(sample_log.data, "leaves "))
		open_others(sample_log.data + strlen("leaves "));
	if (!starts_with(sample_log.data, "stays"))
		dat_registry_remove_provider(&table, info);
}
