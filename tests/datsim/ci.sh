#!/bin/sh
# doc/ci.md: its script works as described with examples/rpc as the user's program, also if a test
# fails; its YAML is valid and calls that script.
. "${top_srcdir:?}/tests/datsim/user.sh"
awk -v to="$work/steps" -f "$src/tests/datsim/fences.awk" "$src/doc/ci.md"
for base in $(ls "$work"/steps/*.file | sed 's/\.file$//'); do
	to=$work/user/$(cat "$base.file")
	mkdir -p "${to%/*}"
	cp "$base.body" "$to"
done
cd "$work/user" || exit 99
mkdir src scripts
cp examples/rpc/*.[ch] src
cp examples/rpc/*.dsim scripts

n=0
# holds WHAT COMMAND... runs a test; needs_library WHAT COMMAND... skips it if no program can be
# linked
holds() {
	n=$((n + 1))
	what=$1
	shift
	if "$@" > "$work/said" 2>&1; then
		echo "ok $n - $what"
	else
		echo "not ok $n - $what"
		sed 's/^/#   /' "$work/said"
	fi
}
needs_library() {
	if [ "$library" ]; then
		holds "$@"
	else
		n=$((n + 1))
		echo "ok $n - $1 # SKIP no plain shared library in this build"
	fi
}

is_yaml() {
	python3 -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' "$1"
}
fails() {
	! "$@"
}
all_kept() {
	for file in scripts.xml scripts.tap ib.trace ib.txt ib.svg ib.out \
		iwarp.trace iwarp.txt iwarp.svg iwarp.out; do
		[ -s "artifacts/$file" ] || { echo "no $file"; return 1; }
	done
	grep -q '<svg' artifacts/ib.svg && grep -q 'tests="3" failures="0"' artifacts/scripts.xml
}
both_call_it() {
	grep -q 'run: sh ci/rdma.sh' .github/workflows/rdma.yml &&
		grep -q -e '- sh ci/rdma.sh' .gitlab-ci.yml
}

RUNS=20
export RUNS

echo 1..10
for file in .github/workflows/rdma.yml .gitlab-ci.yml; do
	if python3 -c 'import yaml' 2> /dev/null; then
		holds "$file is YAML" is_yaml $file
	else
		n=$((n + 1))
		echo "ok $n - $file is YAML # SKIP python3 has no yaml"
	fi
done
holds "both jobs run the script" both_call_it
needs_library "the CI script passes" sh ci/rdma.sh
needs_library "all artifacts are kept" all_kept
needs_library "the program was explored" grep -q '^./rpc: 20 schedules of seed 1 hold' \
	artifacts/explore.out
sed 's/DAT_ASYNC_SRQ_LOW_WATERMARK/DAT_ASYNC_ERROR_TIMED_OUT/' src/server.c > bad.c
cp bad.c src/server.c
needs_library "a failing program fails the CI script" fails sh ci/rdma.sh
needs_library "its trace is kept" grep -q LOW_WATERMARK artifacts/ib.trace
cp examples/rpc/server.c src
sed 's/outstanding_dto_count=3/outstanding_dto_count=2/' examples/rpc/refill.dsim > \
	scripts/refill.dsim
needs_library "a failing script fails the CI script" fails sh ci/rdma.sh
needs_library "the report names the script" grep -q 'failures="1"' artifacts/scripts.xml
