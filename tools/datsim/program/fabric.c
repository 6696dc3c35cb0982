/* SPDX-License-Identifier: BSD-3-Clause */
/* datsim fabric: the fabrics that processes of this user share. */
#include "tools/datsim/commands.h"

#include <stdio.h>
#include <string.h>

#include <dat/sim.h>

static int fabric_complain(const char *verb, const char *name, DAT_RETURN ret)
{
	const char *type = "?", *subtype = "?";

	dat_strerror(ret, &type, &subtype);
	switch (DAT_GET_TYPE(ret)) {
	case DAT_PROVIDER_NOT_FOUND:
		fprintf(stderr, "datsim fabric %s: there is no fabric %s\n", verb, name);
		return EXIT_FAILED;
	case DAT_INVALID_STATE:
		fprintf(stderr, "datsim fabric %s: %s %s\n", verb, name,
			strcmp(verb, "create") ? "is in use" : "is there already");
		return EXIT_FAILED;
	case DAT_INVALID_PARAMETER:
		return EXIT_USAGE; /* the library printed the reason */
	default:
		fprintf(stderr, "datsim fabric %s: %s: %s\n", verb, name, type);
		return EXIT_FAILED;
	}
}

static int fabric_create(const char *name)
{
	DAT_RETURN ret = dat_sim_fabric_create(name, NULL);

	if (ret != DAT_SUCCESS)
		return fabric_complain("create", name, ret);
	printf("DATSIM_FABRIC=%s\n", name);
	return EXIT_PASS;
}

static int fabric_destroy(const char *name)
{
	DAT_RETURN ret = dat_sim_fabric_destroy(name);

	return ret == DAT_SUCCESS ? EXIT_PASS : fabric_complain("destroy", name, ret);
}

static int fabric_show(const char *name)
{
	DAT_SIM_MEMBER member;
	DAT_COUNT i = 0;
	DAT_RETURN ret;

	while ((ret = dat_sim_fabric_member(name, i, &member)) == DAT_SUCCESS) {
		if (i++ == 0)
			printf("%-20s %8s  %-15s %8s %6s %9s\n", "node", "process", "address",
			       "adapters", "EPs", "listeners");
		printf("%-20s %8u  %-15s %8d %6d %9d%s\n", member.node, member.pid,
		       member.address[0] ? member.address : "-", member.adapters, member.eps,
		       member.listeners, member.waiting ? "  waiting" : "");
	}
	if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY)
		return fabric_complain("show", name, ret);
	if (i == 0)
		printf("no process takes part in %s\n", name);
	return EXIT_PASS;
}

static int fabric_list(void)
{
	char name[DAT_SIM_FABRIC_NAME] = "";
	DAT_RETURN ret;

	ret = dat_sim_fabric_next(name, sizeof(name));
	if (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
		fputs("datsim fabric list: there is no shared fabric\n", stderr);
	for (; ret == DAT_SUCCESS; ret = dat_sim_fabric_next(name, sizeof(name))) {
		DAT_SIM_MEMBER member;
		DAT_COUNT members = 0;

		while ((ret = dat_sim_fabric_member(name, members, &member)) == DAT_SUCCESS)
			members++;
		if (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
			printf("%-48s %d %s\n", name, members,
			       members == 1 ? "process" : "processes");
		else
			printf("%-48s cannot be used: `datsim fabric destroy %s` removes it\n",
			       name, name);
	}
	return DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY ? EXIT_PASS : fabric_complain("list", "", ret);
}

static const struct {
	const char *name;
	int (*run)(const char *fabric); /* NULL: list, which takes no name */
} verbs[] = {
	{ "create", fabric_create },
	{ "list", NULL },
	{ "show", fabric_show },
	{ "destroy", fabric_destroy },
};

static int run_command(char **argv)
{
	const char *names[ARRAY_SIZE(verbs) + 1] = { NULL };
	struct operands words;
	size_t i;

	if (!options_read(&command_fabric, argv, NULL, &words))
		return words.code;
	for (i = 0; words.count && i < ARRAY_SIZE(verbs); i++) {
		names[i] = verbs[i].name;
		if (strcmp(words.word[0], verbs[i].name) != 0)
			continue;
		if (words.count != (verbs[i].run ? 2 : 1))
			return usage_error("fabric", "%s wants %s", verbs[i].name,
					   verbs[i].run ? "the name of one fabric" : "no name");
		return verbs[i].run ? verbs[i].run(words.word[1]) : fabric_list();
	}
	if (words.count)
		return usage_unknown("fabric", "verb", words.word[0], names);
	return usage_error("fabric", "expected create, list, show or destroy");
}

const struct command command_fabric = {
	.name = "fabric",
	.operands = "create NAME | list | show NAME | destroy NAME",
	.summary = "manage fabrics that several processes share",
	.about = about_fabric,
	.run = run_command,
};
