#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Each public header compiles without a warning when it is the first and only one, as C and as C++,
# and a C++ program can use them. TAP, a line a header and language.
headers=${top_srcdir:-$(dirname "$0")/../..}/include
set -- "$headers"/dat/*.h
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

n=0
failed=0
# compile NAME COMPILER OPTIONS...: the source is in $dir/source
compile() {
	name=$1
	shift
	n=$((n + 1))
	if "$@" -I"$headers" -Wall -Wextra -Wpedantic -Werror -c "$dir/source" -o /dev/null \
		> "$dir/report" 2>&1; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		sed 's/^/#   /' "$dir/report"
		failed=$((failed + 1))
	fi
}

skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

# Words of CC beyond the compiler's name are options.
# shellcheck disable=SC2086
c() {
	compile "$2" ${CC:-cc} -x c -std="$1"
}

: "${CXX:=g++}"
cxx() {
	if command -v "${CXX%% *}" > /dev/null; then
		# shellcheck disable=SC2086
		compile "$2" $CXX -x c++ -std="$1"
	else
		skip "$2" "there is no $CXX"
	fi
}

echo "1..$(($# * 3 + 2))"
for header; do
	header=dat/${header##*/}
	printf '#include <%s>\nextern int nothing;\n' "$header" > "$dir/source"
	c c11 "<$header> as C11"
	c gnu99 "<$header> as gnu99"
	cxx c++11 "<$header> as C++11"
done

# Settings may come before the headers, and the headers in any order and more than once.
{
	echo '#define DAT_THREADSAFE DAT_TRUE'
	for header; do
		echo "#include <dat/${header##*/}>"
	done | sort -r | sed p
	echo 'extern const DAT_BOOLEAN safe;'
	echo 'const DAT_BOOLEAN safe = DAT_THREADSAFE;'
} > "$dir/source"
c c11 "all headers twice, the last one first"

cat > "$dir/source" << EOF
#include <dat/udat.h>
#include <dat/dat_registry.h>

static void agent(DAT_PVOID, DAT_EVD_HANDLE)
{
}

DAT_RETURN program(DAT_NAME_PTR name, DAT_PROVIDER *provider);

DAT_RETURN program(DAT_NAME_PTR name, DAT_PROVIDER *provider)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_CNO_HANDLE cno;
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR provider_attr, copy;
	DAT_OS_WAIT_PROXY_AGENT one = { nullptr, agent };
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr;
	DAT_EVENT event;
	DAT_RETURN ret = dat_ia_open(name, 8, &async, &ia);

	if (DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND)
		return ret;
	dat_ia_query(ia, &async, DAT_IA_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &provider_attr);
	copy = provider_attr;
	dat_cno_create(ia, one, &cno);
	dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL);
	region.for_va = &attr;
	dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(attr), DAT_HANDLE_NULL,
		       DAT_MEM_PRIV_READ_FLAG, &lmr, nullptr, nullptr, nullptr, nullptr);
	dat_evd_wait(async, DAT_TIMEOUT_INFINITE, 1, &event, nullptr);
	switch ((int)event.event_number) {
	case DAT_ASYNC_SRQ_LOW_WATERMARK:
	case DAT_ASYNC_EP_SOFT_HIGH_WATERMARK:
		return DAT_SUCCESS;
	case DAT_ASYNC_ERROR_EP_BROKEN:
		return DAT_CLASS_ERROR | DAT_ABORT;
	}
	if (copy.evd_stream_merging_supported[DAT_EVD_STREAM_CR][DAT_EVD_STREAM_ASYNC])
		return dat_ia_close(ia, DAT_CLOSE_DEFAULT);
	return DAT_IA_QUERY(ia, &async, DAT_IA_FIELD_NONE, nullptr, DAT_PROVIDER_FIELD_NONE,
			    nullptr) |
	       dat_registry_remove_provider(provider, nullptr);
}
EOF
cxx c++11 "a C++ program"
[ "$failed" -eq 0 ]
