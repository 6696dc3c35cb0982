/* SPDX-License-Identifier: BSD-3-Clause */
/* datsim fabric: the fabrics that processes of this user share. */
#include "tools/datsim/commands.h"

#include <stdio.h>
#include <string.h>

#include <dat/sim.h>

static int complain(const char *verb, const char *name, DAT_RETURN ret)
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
		return EXIT_USAGE; /* the library said which */
	default:
		fprintf(stderr, "datsim fabric %s: %s: %s\n", verb, name, type);
		return EXIT_FAILED;
	}
}

static int create(const char *name)
{
	DAT_RETURN ret = dat_sim_fabric_create(name, NULL);

	if (ret != DAT_SUCCESS)
		return complain("create", name, ret);
	printf("DATSIM_FABRIC=%s\n", name);
	return EXIT_PASS;
}

static int destroy(const char *name)
{
	DAT_RETURN ret = dat_sim_fabric_destroy(name);

	return ret == DAT_SUCCESS ? EXIT_PASS : complain("destroy", name, ret);
}

static int show(const char *name)
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
		return complain("show", name, ret);
	if (i == 0)
		printf("nobody takes part in %s\n", name);
	return EXIT_PASS;
}

static int list(void)
{
	char name[DAT_SIM_FABRIC_NAME] = "";
	DAT_RETURN ret;

	while ((ret = dat_sim_fabric_next(name, sizeof(name))) == DAT_SUCCESS) {
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
	return DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY ? EXIT_PASS : complain("list", "", ret);
}

int command_fabric(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *fabric);
	} verbs[] = { { "create", create }, { "show", show }, { "destroy", destroy } };
	size_t i;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(help_fabric, stdout);
		return EXIT_PASS;
	}
	if (argc == 2 && !strcmp(argv[1], "list"))
		return list();
	for (i = 0; argc == 3 && i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(argv[1], verbs[i].name))
			return verbs[i].run(argv[2]);
	return usage_error("fabric", "expected list, or create, show or destroy and a name");
}
