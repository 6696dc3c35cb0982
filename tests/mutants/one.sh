#!/bin/bash
# A worker of run.sh: takes one change after another from the plan, builds it in a folder of its own
# and runs the tests that execute the changed line, the likeliest first, until one fails.
#
#   one.sh map WORK WORKER MOST          runs each test once without any change
#   one.sh plant WORK WORKER MOST PLAN LIKELY [FRESH]
#                                        the campaign, with so many tests for a change; its rows
#                                        also go to fresh.tsv, with the seed FRESH
#   one.sh sanitized WORK 0 MOST TEST    does TEST pass in ThreadSanitizer's copy?

# A folder that looks like the build, so that what the worker builds can stand in it. The tool finds
# the libraries of verbs beside itself, so it is a copy.
worker_begin() {
	local name
	mine=$work/worker.$1
	rm -rf "$mine"
	mkdir -p "$mine/lib" "$mine/verbs" "$mine/tmp" "$mine/src"
	cp -rs "$tree/run" "$mine/run"
	datsim=$mine/run/tools/datsim/datsim
	rm "$datsim" && cp "$tree/run/tools/datsim/datsim" "$datsim"
	cp "$datsim" "$datsim.real"
	for name in $(env | sed -n 's/^\(DATSIM_[A-Z_]*\|DAT_PROVIDER\)=.*/\1/p'); do
		unset "$name"
	done
	export DAT_OVERRIDE=/dev/null CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent LC_ALL=C CC=gcc \
		NM=nm CK_DEFAULT_TIMEOUT=120 srcdir=.. top_srcdir=$tree top_builddir=$mine/run \
		TMPDIR=$mine/tmp LD_LIBRARY_PATH=$mine/lib MUTANTS_WORKER=$mine CCACHE_DISABLE=1
}

# What a failed test left behind; its processes alone have this word in their environment.
end_processes() {
	local place pid
	for place in $(grep -lzxF "MUTANTS_WORKER=$mine" /proc/[0-9]*/environ 2> /dev/null); do
		pid=${place//[!0-9]/}
		case $(ps -o comm= -p "$pid" 2> /dev/null) in
		'' | bash | make | sh | timeout | grep | ps | sleep) ;;
		*) kill -9 "$pid" 2> /dev/null ;;
		esac
	done
	rm -rf "${mine:?}/tmp"
	mkdir "$mine/tmp"
}

# The results that are not ok, without what is said of them
bad_results() { sed -nE 's/^(not ok [0-9]+ - [^:]*(:[^:]*(:[^:]*)?)?).*/\1/p' "$mine/test.out"; }

# execute TEST SECONDS [WRAPPER...]: its output in test.out; the status is the test's
execute() {
	local test=$1 seconds=$2 place=$mine/run status
	shift 2
	case $test in
	*.dsim) set -- env DATSIM_WRAPPER="$*" sh "$tree/tests/run-datsim.sh" "$tree/$test" ;;
	*.sh) set -- bash "$tree/$test" ;;
	*) set -- env LD_LIBRARY_PATH="$mine/verbs:$mine/lib" "$@" "./$test" ;;
	esac
	(cd "$place" && top_builddir=$place exec timeout -k 2 "$seconds" "$@") \
		> "$mine/test.out" 2>&1 < /dev/null
	status=$?
	[ $status = 0 ] || end_processes
	return $status
}

# Does TEST pass within SECONDS, but for results that are not ok without any change either? 2: it
# takes longer.
run_test() {
	local known=$work/map/${1//\//@} status
	execute "$@"
	status=$?
	case $status in 124 | 137) return 2 ;; esac
	[ $status = 0 ] || [ -s "$known.bad" ] || return 1
	[ "$(grep -c '^ok' "$mine/test.out")" -ge "$(< "$known.ok")" ] || return 1
	! bad_results | grep -qvxFf "$known.bad"
}

# Runs a command with the module as it is without the change, built and found in the same way.
unchanged() {
	local status
	link "$file" "$base" || return
	"$@"
	status=$?
	link "$file" "$mine/new.o"
	return $status
}

# Does TEST of MS milliseconds fail because of the change? A failure has to come twice. The machine
# may be busy, and the test of those that fail now and then: without the change it must pass right
# afterwards, and in a third of the time if the change made it hang. 2: it failed once.
notices() {
	local limit=$((20 + $2 / 100)) control
	run_test "$1" $limit
	case $? in
	0) return 1 ;;
	2) control=$((limit / 3)) ;;
	*)
		run_test "$1" $limit && return 2
		control=$limit
		;;
	esac
	unchanged run_test "$1" $control
}

# Does TEST lose memory within SECONDS, and none without the change? Of a shell test only the tool
# is asked.
leaks() {
	local lsan status
	lsan="LD_PRELOAD=$(gcc -print-file-name=liblsan.so)"
	case $1 in
	*.sh)
		rm -f "$datsim"
		printf '#!/bin/sh\n%s exec -a datsim %s "$@"\n' "$lsan LSAN_OPTIONS=exitcode=99" \
			"$datsim.real" | sed '1s/sh$/bash/' > "$datsim"
		chmod +x "$datsim"
		run_test "$1" "$2"
		[ $? = 1 ] && unchanged run_test "$1" "$2"
		status=$?
		rm -f "$datsim"
		cp "$datsim.real" "$datsim"
		return $status
		;;
	esac
	! execute "$1" "$2" env "$lsan" && grep -q LeakSanitizer "$mine/test.out" &&
		unchanged execute "$1" "$2" env "$lsan"
}

# Does TEST pass in ThreadSanitizer's copy, as make runs it there?
sanitized_passes() {
	local options="exitcode=99:suppressions=$work/tsan/tests/tsan.supp"
	(cd "$work/tsan/run" && top_srcdir=$work/tsan top_builddir=$PWD srcdir=.. \
		DAT_OVERRIDE=/dev/null CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent \
		TSAN_OPTIONS=$options CK_DEFAULT_TIMEOUT=120 LC_ALL=C \
		exec timeout -k 2 240 "./$1") > "$2" 2>&1 < /dev/null
}

# sanitized_notice FILE LINE FUNCTION SINCE
#
# Prints the test, of those that run FILE:LINE, that fails with the change in the copy for
# ThreadSanitizer. That serves one worker at a time, and is left as it was.
sanitized_notice() {
	local file=$1 tests test
	tests=$(tests_of_line "$@" | cut -d' ' -f2 |
		grep -xFf "$work/tsan/run/passing" | head -8)
	[ -n "$tests" ] || return
	(
		flock 8
		cp "$mine/changed" "$work/tsan/$file"
		# shellcheck disable=SC2086
		if make -C "$work/tsan/run" -s passthrough/passthrough.la $tests \
			> "$mine/make.out" 2>&1; then
			for test in $tests; do
				sanitized_passes "$test" "$mine/test.out" && continue
				echo "$test"
				break
			done
		fi
		cp "$mine/original" "$work/tsan/$file"
	) 8> "$work/tsan/lock"
}

# Runs TEST without any change: the code that it runs, how long it takes, its results. It takes the
# processor's time, which does not depend on what else runs, or a quarter of what passed meanwhile.
measure() {
	local known=$work/map/${1//\//@} TIMEFORMAT='%R %U %S' status
	mkdir "$known" 2> /dev/null || return	# another worker has it
	{ time MUTANTS_REACHED=$known execute "$1" $((most * 2)); } 2> "$mine/time"
	status=$?
	case $status in 124 | 137) rm -f "$known"/*; return ;; esac
	bad_results > "$known.bad"
	grep -c '^ok' "$mine/test.out" > "$known.ok" &&
		tail -1 "$mine/time" | awk '{ cpu = $2 + $3; passed = $1 / 4
			printf "%d\n", 1000 * (cpu > passed ? cpu : passed) }' > "$known.ms"
}

# The tests that run FILE:LINE, each with its milliseconds; where hardly any is known to run the
# line, as two may share their code, those of its function, and of a table outside functions, of the
# file. The first are those that promise most for their time: quick ones, those that noticed other
# changes of FUNCTION and of the file, those named after the file or its folder, and those that were
# changed SINCE that commit, after which the change was tried last.
#
# tests_of_line FILE LINE [FUNCTION [SINCE]]
tests_of_line() {
	local index=$work/index/${1//\//@} list range
	[ -f "$index" ] || return
	list=$(awk -v n="$2" '$1 == n { $1 = ""; print }' "$index")
	if [ "$(wc -w <<< "$list")" -lt 3 ]; then
		range=$(awk -v n="$2" '/^{/ { from = NR }
			/^}/ && NR >= n { if (from) print from, NR; exit }
			/^}/ { from = 0 }' "$tree/$1")
		range=${range:-1 1000000}
		list=$(awk -v from="${range% *}" -v to="${range#* }" \
			'$1 >= from && $1 <= to { $1 = ""; print }' "$index")
	fi
	tr -s ' @' '\n/' <<< "$list" | sort -u |
		awk -F '\t' -v file="$1" -v function_="${3:-}" -v most="$most" '
		BEGIN {
			n = split(file, part, "/")
			room = "/" part[n - 1] "/"
			name = "_" substr(part[n], 1, length(part[n]) - 2)
		}
		FILENAME ~ /milliseconds$/ { ms[$1] = $2; next }
		FILENAME ~ /results\// {
			if ($1 == file && $6 ~ /^tests\//)
				noticed[$6] += $3 == function_ ? 10 : 2
			next
		}
		FILENAME ~ /since\./ { sub(/\.[a-z]+$/, ""); fresh[$1]; next }
		$1 in ms && ms[$1] <= most * 1000 {
			weight = 1 + noticed[$1] + 3 * (index($1, room) > 0)
			weight += 10 * (index($1, name) > 0)
			for (path in fresh)
				if (path == $1 || index(path, $1 "_") == 1 || path ".dsim" == $1 ||
						path ".sh" == $1)
					weight += 20
			printf "%.3f\t%d %s\n", (ms[$1] + 50) / weight, ms[$1], $1
		}' "$mine/milliseconds" "$results"/*.tsv "$(since "${4:-}")" - |
		sort -n | cut -f2
}

# since COMMIT: a file with the files of tests that were changed after it
since() {
	local list=$work/since.${1:-none}
	[ -f "$list" ] || git -C "$top" diff --name-only "${1:-HEAD}" HEAD -- tests \
		> "$list" 2> /dev/null
	echo "$list"
}

# compile FILE TO: as make did, without what serves the map; the source is the worker's
compile() {
	local command
	command=$(awk -F '\t' -v file="$1" '$1 == file { print $3; exit }' "$work/compile.tsv")
	[ -n "$command" ] || return
	command=$(sed -E 's/ -(g|fsanitize-coverage=trace-pc|MD|MP)\>//g; s/ -M[TF] [^ ]+//g
		s/ -c [^ ]+/ -c $1/; s/ -o [^ ]+$//' <<< "${command/ -c ..\/$1/ -c x}")
	command=${command/ -c \$1/ -c \"$mine/src/$1\"}
	(cd "$tree/run" && eval "$command" -w -g0 -iquote "../${1%/*}" \
		-ffile-prefix-map="$mine/src/=../" -o "$2") > "$mine/make.out" 2>&1
}

# link FILE OBJECT: links the module of a file again, with another object. C tests find it by
# LD_LIBRARY_PATH; what the tool preloads, or puts into that path, is in the worker's build.
link() {
	local object module command
	object=$(awk -F '\t' -v file="$1" '$1 == file { print $2; exit }' "$work/compile.tsv")
	command=$(grep -F " $object " "$work/link.tsv" | tail -1)
	module=${command%%	*}
	command=${command#*	}
	case $module in
	passthrough/*) made=$mine/run/$module ;;
	verbs/*)
		made=$mine/run/${module%.0.0}
		ln -sf "$made" "$mine/verbs/"
		;;
	*) made=$mine/lib/$(basename "${module%.0.0}") ;;
	esac
	rm -f "$made"
	command=${command/ $object / $2 }
	(cd "$tree/run" && eval "${command/ -o $module/ -Wl,--strip-debug -o $made}") \
		> "$mine/make.out" 2>&1
}

# Prints what became of the change: same, unbuilt, unreached, survived, or the test that noticed. A
# failure that does not come again is "once TEST". BEFORE says whether memory may be lost: the first
# tests run again for that.
#
# try FILE LINE BEFORE CLASS FUNCTION SINCE
try() {
	local file=$1 line=$2 chosen which ms test once= base=$work/base/${1//\//@}.o
	if [ ! -f "$base" ]; then
		mkdir -p "$work/base"
		cp "$mine/original" "$mine/src/$file"
		compile "$file" "$mine/base.o" && mv "$mine/base.o" "$base"
		cp "$mine/changed" "$mine/src/$file"
	fi
	compile "$file" "$mine/new.o" || { echo unbuilt; return; }
	! cmp -s "$base" "$mine/new.o" || { echo same; return; }
	chosen=$(tests_of_line "$file" "$line" "$5" "$6" | awk -v most="$likely" 'NR <= most')
	[ -n "$chosen" ] || { echo unreached; return; }
	link "$file" "$mine/new.o" || { echo unbuilt; return; }
	while read -r ms test; do
		notices "$test" "$ms"
		case $? in
		0) echo "$test"; return ;;
		2) once=$test ;;
		esac
	done <<< "$chosen"
	if [ "$4" = race ] && [ -f "$work/tsan/prepared" ]; then
		test=$(sanitized_notice "$file" "$line" "$5" "$6")
		[ -z "$test" ] || { echo "$test, under ThreadSanitizer"; return; }
	fi
	if [[ $3 =~ (free|fini|destroy|close(dir)?|[^l]_release|drop|_end|leave|remove|unmap)\( &&
			! $3 =~ backend_leave ]]; then
		while read -r ms test; do
			! leaks "$test" $((20 + ms / 100)) || {
				echo "$test, with LeakSanitizer"
				return
			}
		done < <(awk '$1 < 2000 && n++ < 60' <<< "$chosen")
	fi
	which=tests
	[ "$(wc -l <<< "$chosen")" -lt "$likely" ] || which="the $likely likeliest tests"
	echo "${once:+once $once}" | sed "s/^$/survived $which of up to $most s/"
}

# The next row of the plan, each for one worker
take() {
	local n
	exec 9> "$work/lock"
	flock 9
	n=$(($(< "$plan.taken") + 1))
	echo $n > "$plan.taken"
	exec 9>&-
	sed -n "${n}p" "$plan"
}

# plant ROOM FILE LINE FUNCTION OPERATOR CLASS BEFORE AFTER [SINCE]: its row in the results of ROOM
plant() {
	local room=$1 file=$2 line=$3 after=$8 outcome row begin=$SECONDS left
	rm -rf "$mine/src"
	mkdir -p "$mine/src/${file%/*}"
	cp "$tree/$file" "$mine/src/$file"
	cp "$tree/$file" "$mine/original"
	perl "$top/tests/mutants/mutants.pl" apply "$mine/src/$file" "$line" "$after"
	cp "$mine/src/$file" "$mine/changed"
	outcome=$(try "$file" "$line" "$7" "$6" "$4" "${9:-}")
	rm -f "$mine"/lib/* "$mine"/verbs/*
	find "$mine/run/passthrough/.libs" "$mine/run/verbs/.libs" -name '*.so*' -type f -delete
	cp -rs "$tree/run/passthrough/.libs" "$mine/run/passthrough/" 2> "$mine/link.out"
	cp -rs "$tree/run/verbs/.libs" "$mine/run/verbs/" 2>> "$mine/link.out"
	row=$(printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s' "$file" "$line" "$4" "$5" "$6" \
		"$outcome" "$7" "$after" "$(< "$work/commit")")
	echo "$row" >> "$results/$room.tsv"
	[ -z "$fresh" ] ||
		printf '%s\t%s\t%s\n' "$row" "$fresh" "$room" >> "${results%/*}/fresh.tsv"
	left=$(($(wc -l < "$plan") - $(< "$plan.taken")))
	echo "$left left; $file:$line $5: $outcome, $((SECONDS - begin)) s" >&2
}

campaign() {
	local row
	worker_begin "$1"
	awk -v OFS='\t' '{ sub(/.*\//, "", FILENAME); sub(/\.ms$/, "", FILENAME)
		gsub("@", "/", FILENAME); print FILENAME, $1 }' "$work"/map/*.ms \
		> "$mine/milliseconds"
	while IFS=$'\t' read -ra row < <(take) && [ -n "${row[0]:-}" ]; do
		plant "${row[@]}"
	done
	rm -rf "$mine"
}

set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit
work=$2 tree=$2/tree results=$top/tests/mutants/results most=$4 plan=${5:-} likely=${6:-9999}
fresh=${7:-}
case $1 in
map)
	worker_begin "$3"
	while read -r test; do measure "$test"; done < "$work/tests"
	rm -rf "$mine"
	;;
plant) campaign "$3" ;;
sanitized) sanitized_passes "$5" /dev/null ;;
esac
