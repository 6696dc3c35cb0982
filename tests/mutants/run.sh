#!/bin/bash
# Does the suite notice? Plants small changes, one at a time, in a copy of the tree, and runs the
# tests that execute the changed line until one fails. README.md explains; the result is a table.
#
#   tests/mutants/run.sh [--seed N] [--count N] [--again] [ROOM...]
#
#   --seed N     which changes are sampled (1)
#   --count N    how many for each room (50)
#   --again      forget the copy of the tree and what was measured on it
#   ROOM         host lib emu shared fault passthrough datsim; all of them by default
#
# Everything is kept in build/mutants/: results.tsv has a row for each change, and a change that has
# a row is not tried again, so that the script can be stopped and called again.
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
work=$top/build/mutants
tree=$work/tree
results=$work/results.tsv
mutants=$top/tests/mutants/mutants.pl
seed=1 count=50 again=

usage() { sed -n 's/^# \{0,1\}//; 5,11p' "$0"; }

while [ $# -gt 0 ]; do
	case $1 in
	--seed | --count)
		[[ ${2:-} =~ ^[0-9]+$ ]] || { echo "run.sh: $1 expects a number" >&2; exit 2; }
		[ "$1" = --seed ] && seed=$2 || count=$2
		shift
		;;
	--again) again=y ;;
	-h | --help) usage; exit 0 ;;
	-*) echo "run.sh: there is no option $1" >&2; usage >&2; exit 2 ;;
	*) break ;;
	esac
	shift
done
rooms=${*:-host lib emu shared fault passthrough datsim}

# The sources of a room, one a line
sources() {
	case $1 in
	emu) find emu -name '*.c' ! -path 'emu/shared/*' ! -path 'emu/lockstep/*' ;;
	shared) find emu/shared emu/lockstep -name '*.c' ;;
	datsim) find tools/datsim -name '*.c' ;;
	host | lib | fault | passthrough) find "$1" -name '*.c' ;;
	*) echo "run.sh: there is no room '$1'" >&2; return 1 ;;
	esac | sort
}

# ---- the copy ----

configure_in() {
	mkdir -p "$tree/$1" && cd "$tree/$1" || return
	shift
	../configure -q "$@" > /dev/null && make -s -j2 check-build > make.out 2>&1
}

prepare() {
	[ -z "$again" ] || rm -rf "$work"
	[ ! -f "$work/prepared" ] || return 0
	mkdir -p "$tree" && git archive HEAD | tar x -C "$tree" && git rev-parse --short HEAD \
		> "$work/commit" || return
	(cd "$tree" && ./bootstrap > bootstrap.out 2>&1) || return
	echo "building the copy, and another one that counts lines" >&2
	(configure_in run CFLAGS='-O1 -g0') || return
	(configure_in cov CFLAGS='-O0 -g --coverage -fprofile-update=atomic') || return
	touch "$work/prepared"
}

# ---- one test ----

# The tests of the copy: not those about sources, documents and installation, nor the lab's.
tests() {
	make -C "$tree/run" -s --no-print-directory list-tests |
		grep -Ev '^tests/(house|install|hwlab|check|conformance|headers|export|fuzz)/'
}

# run_test BUILD TEST SECONDS: 0 if it passes; 77 if it tests nothing
run_test() (
	cd "$tree/$1" || exit 1
	for name in $(env | sed -n 's/^\(DATSIM_[A-Z_]*\|DAT_PROVIDER\)=.*/\1/p'); do
		unset "$name"
	done
	export DAT_OVERRIDE=/dev/null CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent LC_ALL=C CC=gcc \
		NM=nm CK_DEFAULT_TIMEOUT=120 srcdir=.. top_srcdir=$tree top_builddir=$tree/$1
	case $2 in
	*.dsim) set -- "$3" sh ../tests/run-datsim.sh "../$2" ;;
	*.sh) set -- "$3" sh "../$2" ;;
	*) set -- "$3" "./$2" ;;
	esac
	timeout -k 2 "$@" > test.out 2>&1 < /dev/null || exit 1
	grep -q '^not ok\|^Bail out' test.out && exit 1
	grep -q '^1\.\.0' test.out && exit 77
	grep -q '^ok' test.out
)

# ---- which test runs which line ----

lines_run() {
	(cd "$tree/cov" && find . -name '*.gcda' -print0 | xargs -0 gcov -t 2> /dev/null) |
		awk -v top="$tree/" '
		/^ *-: *0:Source:/ {
			file = $0
			sub(/^.*Source:/, "", file)
			while (sub(/^\.\.\//, "", file))
				;
			if (index(file, top) == 1)
				file = substr(file, length(top) + 1)
			next
		}
		/^ *[0-9]+\*?: *[0-9]+:/ {
			split($0, part, ":")
			print file ":" part[2] + 0
		}' | sort -u
}

# Each test alone: how long it takes, and the lines that it runs.
map() {
	local n=0 total test begin name
	mkdir -p "$work/map"
	total=$(tests | wc -l)
	for test in $(tests); do
		n=$((n + 1))
		name=$work/map/${test//\//@}
		[ ! -f "$name" ] || continue
		[ ! -t 2 ] || printf '\r%d of %d tests: lines they run ' "$n" "$total" >&2
		find "$tree/cov" -name '*.gcda' -delete
		begin=${EPOCHREALTIME/./}
		if run_test run "$test" 300; then
			echo $(((${EPOCHREALTIME/./} - begin) / 1000)) > "$name.ms"
			run_test cov "$test" 600
			lines_run > "$name.new"
			mv "$name.new" "$name"
		else
			: > "$name"	# it fails or is skipped without any change
		fi
	done
	[ ! -t 2 ] || echo >&2
}

# The tests that run FILE:LINE, the quickest first, each with its milliseconds
tests_of_line() {
	local name
	grep -lxF "$1" "$work"/map/* 2> /dev/null | while read -r name; do
		case $name in *.ms) continue ;; esac
		echo "$(cat "$name.ms") $(basename "$name" | tr @ /)"
	done | sort -n
}

# ---- one change ----

object_of() { find "$tree/run/${1%/*}" -name "*-$(basename "$1" .c).o" | sort | head -1; }

build_changed() { make -C "$tree/run" -s "$@" > "$work/make.out" 2>&1; }

# Prints what became of the change: same, unbuilt, unreached, survived, or the test that noticed.
try() {
	local file=$1 line=$2 chosen ms test object programs
	object=$(object_of "$file")
	cp "$object" "$work/before.o"
	chosen=$(tests_of_line "$file:$line")
	if ! build_changed tools/datsim/datsim libdat.la all-am; then
		echo unbuilt
		return
	elif cmp -s "$object" "$work/before.o"; then
		echo same
		return
	elif [ -z "$chosen" ]; then
		echo unreached
		return
	fi
	programs=$(echo "$chosen" | awk '$2 !~ /\./ { print $2 }')
	while read -r ms test; do
		case $test in
		*.dsim | *.sh) ;;
		*)
			build_changed "$test" || { echo unbuilt; return; }
			;;
		esac
		run_test run "$test" $((10 + ms * 5 / 1000))
		case $? in 0 | 77) ;; *) echo "$test"; return ;; esac
	done <<< "$chosen"
	echo survived
}

# The suite's own programs lag behind the sources after a change; make catches up at the next one.
plant() {
	local room=$1 file=$2 line=$3 operator=$4 class=$5 before=$6 after=$7 outcome begin
	if grep -qF "$file	$line	$operator	" "$results" 2> /dev/null; then
		return
	fi
	begin=$SECONDS
	cp -p "$tree/$file" "$work/original"
	perl "$mutants" apply "$tree/$file" "$line" "$after"
	outcome=$(try "$file" "$line")
	cp "$work/original" "$tree/$file"
	printf '%s\t' "$room" "$file" "$line" "$operator" "$class" "$outcome" $((SECONDS - begin)) \
		>> "$results"
	printf '%s\t%s\n' "$before" "$after" >> "$results"
	[ ! -t 2 ] || printf '%s:%s %s: %s\n' "$file" "$line" "$operator" "$outcome" >&2
}

prepare || { echo "run.sh: the copy in $tree does not build; see make.out there" >&2; exit 1; }
map
touch "$results"
for room in $rooms; do
	(cd "$tree" && sources "$room" | xargs perl "$mutants" sample "$seed" "$count") \
		> "$work/sample" || exit
	while IFS=$'\t' read -r file line operator class before after <&3; do
		plant "$room" "$file" "$line" "$operator" "$class" "$before" "$after"
	done 3< "$work/sample"
done
awk -f tests/mutants/report.awk commit="$(cat "$work/commit")" "$results"
