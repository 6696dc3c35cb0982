# shellcheck shell=bash
# Sourced by ./check: the stages. $1 of each function is the stage's name.

jobs=$(nproc 2> /dev/null || echo 2)
# Twice as many, because a test spends about half of its time waiting: for timers, for processes.
tests_at_once=$((2 * jobs))
limit=$PWD/tests/check/limit.sh
# configure and libtool take two thirds of the time in dash.
if command -v dash > /dev/null; then
	CONFIG_SHELL=$(command -v dash)
	export CONFIG_SHELL
fi

# ---- building ----

bootstrap_if_needed() {
	local newer
	if [ -f configure ]; then
		newer=$(find configure.ac Makefile.am m4/*.m4 ./*/configure.m4 -newer configure)
		[ -n "$newer" ] || return 0
	fi
	./bootstrap
}

# alone FILE COMMAND...: only one lane at a time runs a command with this file
alone() {
	local file=$1
	shift
	(flock 9 && "$@" 9>&-) 9> "$file"
}

# build_tree NAME TARGET CONFIGURE-ARGS...: configures build/NAME and builds TARGET, with the
# arguments of make in the array make_with.
make_with=()
build_tree() {
	local dir=build/$1
	if [ -f config.status ]; then
		echo "Error: the source tree itself is configured; please run make distclean"
		return 1
	fi
	mkdir -p "$dir"
	alone build/bootstrap.lock bootstrap_if_needed && alone "$dir.lock" build_in "$dir" "${@:2}"
}

# build_in FOLDER TARGET CONFIGURE-ARGS...
build_in() {
	local dir=$1 target=$2
	shift 2
	if [ ! -f "$dir/config.status" ] ||
		[ "$(cat "$dir/configured-with" 2> /dev/null)" != "$*" ]; then
		# make would keep the objects of another compiler, or with other limits.
		rm -rf "${dir:?}"/*
		(cd "$dir" && ${CONFIG_SHELL:-/bin/sh} ../../configure -q "$@") || return
		echo "$*" > "$dir/configured-with"
	fi
	make -C "$dir" --no-print-directory -j"$jobs" "$target" \
		LIBTOOL="\$(SHELL) \$(srcdir)/tests/check/quick-libtool.sh" "${make_with[@]}"
}

# The libraries, the tool and the benchmarks are compiled at -O2. The tests are compiled at -O1,
# because gcc takes longer for most of them than they run; its warning of a dangling pointer is
# false there: it means strings of Check's assertions. -g1 has the numbers of lines, which reports
# need. gold, where it is there, links the 300 tests in a third of the time.
by_gold=()
! command -v ld.gold > /dev/null || by_gold=(LDFLAGS=-fuse-ld=gold)
build_normal() {
	case " $failed_stages " in
	*" build "*)
		echo "not run because stage build failed"
		return 1
		;;
	esac
	local -a make_with=()
	build_tree check all --enable-werror CFLAGS='-O2 -g1' || return
	make_with=("CFLAGS=-O1 -g1 -Wno-dangling-pointer" "${by_gold[@]}")
	build_tree check check-build --enable-werror CFLAGS='-O2 -g1'
}

# build_sanitized NAME COMPILER SANITIZERS CONFIGURE-ARGS...: libraries, tool and tests, with the
# arguments of make for tests in make_with. What counts here is the time of the compiler: -Og with
# the positions of lines only takes gcc 40 % of that of -O1. It guesses more warnings there, which
# take a tenth of its time; those of stage build are the ones that count. clang compiles soonest at
# -O0, and its warnings are errors. -no-pie: otherwise a test has 100,000 relocations for the
# sanitizer's table of variables, which take half the time of its link.
build_sanitized() {
	local -x PROGRAM_LDFLAGS=-no-pie
	local -a args=(--enable-sanitizers="$3") tests=("${make_with[@]}") make_with=()
	case $2 in
	gcc) args+=(CFLAGS='-Og -g1') make_with=(WARN_CFLAGS=-w) ;;
	clang) args+=(CC=clang CFLAGS='-O0 -g1' --enable-werror) ;;
	esac
	build_tree "$1" all "${args[@]}" "${@:4}" || return
	make_with+=("${tests[@]}" "${by_gold[@]}")
	build_tree "$1" check-build "${args[@]}" "${@:4}"
}

# ---- testing ----

# test_in BUILD STAGE MAKE-ARGS...: runs tests in build/BUILD and counts them. Another ./check that
# would run tests there waits.
test_in() { alone "build/$1.tests.lock" test_alone "$@"; }

# test_alone BUILD STAGE MAKE-ARGS...: the same, without the lock. A stage that runs all tests in
# some way is left out if nothing has changed since it passed (unchanged.sh).
test_alone() {
	local dir=build/$1 stage=$2 status inputs=
	shift 2
	case $stage in
	tests | asan | tsan | small | valgrind)
		inputs=$(fingerprint "$stage" "$dir" "$@")
		! still_true "$stage" "$inputs" || return 0
		;;
	esac
	find "$dir" \( -name '*.trs' -o -path '*/tests/*.log' \) -delete
	export TIMES=$PWD/$log/$stage.times
	make -C "$dir" --no-print-directory -j"$tests_at_once" \
		SH_LOG_COMPILER="$limit ${LIMIT:-900} bash" "$@"
	status=$?
	count_tests "$stage" "$dir"
	[ $status -ne 0 ] || [ -z "$inputs" ] || keep_result "$stage" "$inputs"
	return $status
}

# script STAGE FILE: runs one script that prints TAP.
script() {
	build_normal && test_in check "$1" check TESTS="$2"
}

# ---- the stages ----

stage_build() { build_normal; }
# --full runs each program of perftest with each of its options, and programs on links that lose
# packets with twelve times as many seeds, each example with each way of a hostile NIC, and the
# passthrough on all profiles of the stub.
stage_tests() {
	build_normal && NODES=${FULL:+1024} PERFTEST=${FULL:+all} LOSSY=${FULL:+all} \
		HOSTILE=${FULL:+all} PROFILES=${FULL:+all} test_in check "$1" check
}
# The tests of the subjects in $asked that are built here.
stage_only() {
	local subject tests
	build_normal || return
	# shellcheck disable=SC2154 # ./check sets it
	for subject in $asked; do
		tests_of "$subject"
	done | sort -u > "$log/$1.asked"
	tests=$(make -C build/check --no-print-directory -s list-tests |
		grep -xF -f "$log/$1.asked")
	if [ -z "$tests" ]; then
		echo "these tests are not built here: $(tr '\n' ' ' < "$log/$1.asked")" \
			> "$log/$1.note"
		return 77
	fi
	test_in check "$1" check TESTS="$(echo "$tests" | tr '\n' ' ')"
}
# One process for each C program, not for each test: under AddressSanitizer a fork takes ten times
# as long as most tests. The rules of the house are left out, which read the sources, and so is
# conformance/conformance.sh, which judges a page that stage tests has judged.
#
# The same build has small internal limits: counters wrap, tables and ranges are full. It is also
# the one in which clang's warnings are errors, so that clang compiles all sources once, but for
# lines that small limits or the sanitizer leave out, which stage clang has. --full does these
# things one by one, on all profiles of the stub, and its sanitizers are those of gcc, which look
# for other mistakes. datsim/tutorial.sh compares pages with what an ordinary build prints.
#
# Without --full the longest scripts are left out, if others take the same ways through the sources
# with fewer repetitions: explore.sh, explore-verbs.sh and unit/explore/ do for the campaigns;
# stop.sh and unit/shared/ for programs that are killed; hostile.sh and timeline.sh for the pages
# and captures that browsers and tshark read; whole/ here and lockstep.sh under ThreadSanitizer for
# lockstep; parity/fabric.sh for the passthrough's suites. The programs of sanitized.sh bring
# sanitizers of their own.
asan_leaves_out='^tests/(house|conformance)/'
asan_leaves_to_full='/tutorial\.sh|/explore-(pairs|programs|store)\.sh'
asan_leaves_to_full+='|/(unkind|campaign-files|sweep|options)\.sh'
asan_leaves_to_full+='|/(pcapng|html|picture)\.sh|processes/(kill|lockstep|stream)\.sh|/glue\.sh'
asan_leaves_to_full+='|/(worlds|orders|sanitized)\.sh'
asan_leaves_to_full+='|passthrough/(fabric|profiles|suites)\.sh|/test_turns_list'
stage_asan() {
	local tests compiler=clang small=--enable-small-limits but=$asan_leaves_out
	if [ -z "$FULL" ]; then
		but="$but|$asan_leaves_to_full"
		export PROGRAM_STEPS=300 WALK_STEPS=1000 MESSAGES=5
	else
		export PROFILES=all
		compiler=gcc small=''
	fi
	build_sanitized asan $compiler address,undefined $small || return
	tests=$(make -C build/asan --no-print-directory -s list-tests | grep -vE "$but")
	KILLS=${KILLS:-34} STORES=${STORES:-20} CK_FORK=no \
		test_in asan "$1" check \
		LOG_COMPILER="$limit 900" TESTS="$(echo "$tests" | tr '\n' ' ')"
}
# All C tests whose programs have threads, and processes that share a fabric, in real time and in
# lockstep. --full has processes/stream.sh as well, which takes minutes, and the passthrough on all
# profiles of the stub; it makes ten times the rounds of unit/threads/test_threads_torture,
# verbs/test_verbs_torture and the litmus tests.
#
# Left out: unit/dto/test_quick, which compares a path of programs of one thread, where the
# sanitizer has its own, and passthrough/test_quick, made of the same files; test_shortage,
# which replaces malloc and mmap, as the sanitizer does, and crashes before main. The sanitizer's
# thread makes each process one of several threads, so these are left out as well:
# shared/test_watch, which counts threads; sweep/test_sweep, which has rows for a process of one
# thread and would block; and verbs/events/test_verbs_sqd, whose retries end after some virtual
# time: with a second thread virtual time follows the real clock.
stage_tsan() {
	local tests scripts='pair|lockstep' programs LIMIT=3600
	local -a make_with=(check_PROGRAMS=)
	[ -z "$FULL" ] || scripts="$scripts|stream|profiles"
	build_sanitized tsan gcc thread || return
	tests=$(make -C build/tsan --no-print-directory -s list-tests | grep -E \
		-e '^tests/(unit/threads|litmus|kernel|passthrough)/test_' \
		-e '^tests/unit/(shared/test_(thread_ends|refused)|registry/test_loader)$' \
		-e '^tests/unit/memory/test_(memory_signals|memory_gone|lmr_kinds)$' \
		-e '^tests/verbs/(test_verbs_torture|cm/test_rdmacm_ends)$' \
		-e '^tests/verbs/rsocket/test_rsocket(_values|_waits)?$' \
		-e '^tests/sweep/test_calls$' \
		-e "^tests/(processes|passthrough)/($scripts)\.sh\$" |
		grep -v /test_shortage | tr '\n' ' ')
	programs=$(echo "$tests" | tr ' ' '\n' | grep -v '\.sh$' | tr '\n' ' ')
	programs="$programs tests/processes/turns tests/verbs/blocks tests/datsim/behaves"
	for program in bulk split storm; do
		programs="$programs tests/processes/stream/$program"
	done
	make_with=(check_PROGRAMS="$programs")
	build_sanitized tsan gcc thread || return
	MESSAGES=5 TORTURE_TIMES=${FULL:+10} PROFILES=${FULL:+all} \
		test_in tsan "$1" check TESTS="$tests" "${make_with[@]}"
}
# -O1: compiled sooner than at -O2, and some tests take long at -O0.
stage_small() {
	local tests
	build_tree small check-build --enable-small-limits CFLAGS=-O1 || return
	tests=$(make -C build/small --no-print-directory -s list-tests |
		grep -vE '^tests/(house|conformance)/|/tutorial.sh')
	test_in small "$1" check TESTS="$(echo "$tests" | tr '\n' ' ')"
}
# A program takes more than a second to start under valgrind. Without --full, all scripts run in one
# process, and of the C tests only those of Endpoints and SRQs, every sixth case; with --full every
# third case of all.
stage_valgrind() {
	local less='' share=3
	[ -n "$FULL" ] || share=6 less='-e ^tests/[^u] -e ^tests/unit/[^es] -e /unit/shared/'
	[ -n "$FULL" ] || less="$less -e /unit/sim/ -e /unit/evd/ -e /unit/explore/"
	build_normal && UNIT_SHARE=$share test_in check "$1" check-valgrind VALGRIND_LESS="$less"
}
# This stage is only about warnings, for which -O0 is enough and no link is needed. It is for those
# who want to see them soon, and for --full; otherwise stage asan has them.
stage_clang() {
	local -a make_with=("LIBTOOL=\$(SHELL) \$(srcdir)/tests/check/compile-only.sh")
	build_tree clang check-build --enable-werror CC=clang CFLAGS=-O0
}
stage_determinism() { script "$1" tests/determinism.sh; }
stage_instructions() {
	build_normal &&
		test_in check "$1" check TESTS="bench/instructions.sh bench/instructions-hw.sh"
}
# in_lab STAGE: other stages of build/check run tests meanwhile, so the lab's results have a folder
# of their own.
in_lab() {
	local dir=build/lab-$1
	build_normal && rm -rf "$dir" && mkdir "$dir" || return
	env -u DAT_PROVIDER LC_ALL=C top_srcdir="$PWD" top_builddir="$PWD/build/check" \
		AM_TAP_AWK=awk sh build-aux/tap-driver.sh --merge --color-tests no \
		--enable-hard-errors yes --expect-failure no --test-name tests/hwlab/lab.sh \
		--log-file "$dir/lab.log" --trs-file "$dir/lab.trs" -- sh tests/hwlab/lab.sh
	count_tests "$1" "$dir"
	! grep -qE '^:test-result: (FAIL|XPASS|ERROR)' "$dir/lab.trs"
}
stage_hwlab() { in_lab "$1"; }
# Also the rows that take long or depend on timing; then the kernel of the previous Debian.
stage_hwlab_all() {
	export HWLAB_ROWS=0 HWLAB_SECONDS=5400
	in_lab "$1" || return
	unset HWLAB_ROWS HWLAB_SECONDS
	HWLAB_PART=1/1 HWLAB_KERNEL=6.1 in_lab "$1-6.1"
}
# A release builds without the source tree, is complete, and installs. All tests have run already;
# here a few show that tests run in it, and --full runs all of them again. -O0 without warnings,
# because stage build is the one about them; no dependency tracking, because nothing is compiled a
# second time.
stage_distcheck() {
	local few="tests/headers/test_headers tests/unit/srq/test_srq_lw"
	build_normal && make -C build/check --no-print-directory -j"$jobs" distcheck \
		DISTCHECK_CONFIGURE_FLAGS="CFLAGS=-O0 --disable-dependency-tracking" \
		WARN_CFLAGS=-w check_PROGRAMS="$few" \
		TESTS="$few tests/datsim/usage.sh doc/demo.dsim" && release_is_complete
}
stage_release() {
	build_normal && make -C build/check --no-print-directory -j"$jobs" distcheck
}
# Every file that git knows is in the release.
release_is_complete() {
	local missing
	[ -e .git ] || return 0
	missing=$(git ls-files | grep -vx '\.gitignore' | sort | comm -23 - <(
		tar -tzf build/check/libdat-*.tar.gz | sed 's,^[^/]*/,,' | sort))
	[ -z "$missing" ] || echo "not in the release; add to EXTRA_DIST:" $missing |
		tee "$log/distcheck.failed"
	[ -z "$missing" ]
}
stage_format() { script "$1" tests/house/format.sh; }

# Six seconds for each fuzzer, a minute in --full, or FUZZ_SECONDS.
stage_fuzz() {
	local said=$log/$1.tap seconds=${FUZZ_SECONDS:-${FULL:+60}}
	build_tree fuzz fuzzers --enable-werror --enable-sanitizers=address,undefined \
		--enable-fuzzing CC=clang CFLAGS='-O1 -g1' || return
	sh tests/fuzz/run.sh build/fuzz "${seconds:-6}" | tee "$said"
	sed -n 's/^ok [0-9]* - //p' "$said" > "$log/$1.note"
	echo "$(grep -c '^ok' "$said") $(grep -c '^not ok' "$said") 0" > "$log/$1.counts"
	! grep -A40 '^not ok' "$said" > "$log/$1.failed"
}

stage_packages() {
	local LIMIT=3600
	script "$1" "tests/install/packages.sh tests/install/rpm.sh tests/install/images.sh"
}

# page_of FILE NAME: to doc/results/NAME, with the commit under its title
page_of() {
	local commit
	commit=$(git describe --always --dirty --exclude '*' 2> /dev/null)
	mkdir -p doc/results
	{
		head -n 1 "$1"
		printf '\nCommit %s.\n' "$commit"
		tail -n +2 "$1"
	} > "doc/results/$2"
}

stage_campaign() {
	local status page=build/check/tests/campaign.md stops=build/check/tests/stops.md
	local LIMIT=14400
	rm -f $page $stops
	SHARE=100 script "$1-sweep" tests/datsim/sweep.sh || return
	STOPS=all PAGE=$PWD/$stops script "$1-stops" tests/processes/stop.sh
	status=$?
	[ ! -f $stops ] || page_of $stops stops.md
	[ $status = 0 ] || return $status
	RUNS=100 script "$1-whole" tests/processes/whole/whole.sh || return
	RUNS=100 LOAD=8 script "$1-whole-load" tests/processes/whole/whole.sh || return
	LOAD=8 CONNECTIONS=5000 script "$1-order" tests/processes/order/first.sh || return
	script "$1-slurm" tests/campaign-slurm.sh || return
	script "$1" tests/campaign.sh
	status=$?
	if [ -f $page ]; then
		page_of $page campaign.md
		echo "written to doc/results/campaign.md" > "$log/$1.note"
	fi
	return $status
}

# What all tests run of these rooms, killed processes included: the counters are in mapped files.
# Anyone may write there: some children run as other users.
stage_coverage() {
	local dir=$PWD/build/coverage page=doc/results/coverage.md
	local rooms="host lib emu fault passthrough verbs tools/datsim" commit
	commit=$(git describe --always --dirty --exclude '*' 2> /dev/null)
	build_tree coverage check-build --enable-coverage CC=clang CFLAGS='-O0 -g' || return
	rm -rf "$dir/raw" && mkdir -m 1777 "$dir/raw" || return
	LLVM_PROFILE_FILE="$dir/raw/%c%m.profraw" CK_DEFAULT_TIMEOUT=600 \
		DEADLINE_SEED=9 DEADLINE_RUNS=100 test_in coverage "$1" check || return
	llvm-profdata merge -o "$dir/all.profdata" "$dir"/raw/*.profraw || return
	coverage_of export --format=lcov | sed "s,^SF:$PWD/,SF:,; s,^SF:.*/\.\./,SF:," \
		> "$dir/all.info" &&
		coverage_of show --format=html -output-dir="$dir/html" &&
		coverage_complete "$dir/all.info" || return
	# shellcheck disable=SC2086
	awk -v rooms="$rooms" -v commit="$commit" -f tests/check/coverage.awk "$dir/all.info" \
		> "$dir/coverage.md"
	cat tests/check/coverage-rest.md >> "$dir/coverage.md"
	cp "$dir/coverage.md" $page
	sed -n 's/^| \*\*\([a-z/ ]*\)\*\* |.*| \([0-9.]* %\) |$/branches of \1: \2/p' \
		$page > "$log/$1.note"
	echo "written to $page; line by line: build/coverage/html/index.html" >> "$log/$1.note"
}

# coverage_of COMMAND OPTION...: llvm-cov on the libraries and the tool, where all functions are.
coverage_of() {
	local command=$1
	shift
	# shellcheck disable=SC2086,SC2154
	(cd "$dir" && llvm-cov "$command" "$@" -instr-profile=all.profdata .libs/libdat.so \
		-object passthrough/.libs/passthrough.so -object tools/datsim/datsim \
		-object verbs/.libs/libibverbs.so.1 -object verbs/.libs/librdmacm.so.1)
}

# Every source file of the rooms that has a function is in the report: one that no library is
# made of would be missing.
coverage_complete() {
	local missing
	# shellcheck disable=SC2154
	missing=$(find $rooms -name '*.c' -exec grep -l '^{' {} + | sort | while read -r file; do
		# coverage-rest.md says why.
		case $file in host/outside/turns*.c | verbs/files.c) continue ;; esac
		grep -qxF "SF:$file" "$1" || echo "$file"
	done)
	[ -z "$missing" ] || echo "not in the report:" $missing | tee "$log/coverage.failed"
	[ -z "$missing" ]
}
