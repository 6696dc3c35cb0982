#!/bin/bash
# Does the suite notice? Plants small changes, one at a time, in a copy of the tree, and runs the
# tests that execute the changed line until one fails. README.md explains; the result is a table.
#
#   tests/mutants/run.sh [--seed N] [--count N] [--workers N] [--most S] [--likely N]
#                        [--survivors] [--fresh] [--again] [--class C] [--file F] [ROOM...]
#
#   --seed N     which changes are sampled (1)
#   --count N    how many for each room (50)
#   --workers N  how many changes are tried at the same time (2)
#   --most S     leaves out tests that take longer without any change, in seconds (60): a change
#                that nothing notices takes ten minutes, with --most 2 one; --survivors comes next
#   --likely N   for each change, only the N tests that are the likeliest to notice (all)
#   --survivors  tries changes again that were not noticed, and no others
#   --fresh      the changes are new ones of a seed that was not used before: what becomes of them
#                on this copy is told apart, before anything is mended; with --survivors, theirs
#                alone
#   --class C    samples changes of one class alone: race, or plain
#   --file F     tries all changes of one source, in place of a sample
#   --again      forget the copy of the tree and what was measured on it
#   ROOM         host lib emu shared fault passthrough datsim verbs; all of them by default
#
# results/ROOM.tsv has a row for each change, results/whole.tsv those of --file. One that has a row
# is not tried again, so that the script can be stopped and called again, and later runs add to
# earlier ones. The copy of the tree is kept in build/mutants/; several runs can use it at a time.
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
here=$top/tests/mutants
work=$top/build/mutants
tree=$work/tree
results=$here/results
seed=1 count=50 workers=2 most=60 likely=9999 again= survivors= only= class= fresh=

usage() { sed -n 's/^# \{0,1\}//; 5,22p' "$here/run.sh"; }

while [ $# -gt 0 ]; do
	case $1 in
	--seed | --count | --workers | --most | --likely)
		[[ ${2:-} =~ ^[0-9]+$ ]] || { echo "run.sh: $1 expects a number" >&2; exit 2; }
		declare "${1#--}=$2"
		shift
		;;
	--file)
		[ -f "${2:-}" ] || { echo "run.sh: there is no source ${2:-}" >&2; exit 2; }
		only=$2
		shift
		;;
	--class)
		[[ ${2:-} =~ ^(race|plain)$ ]] || {
			echo "run.sh: --class expects race or plain" >&2
			exit 2
		}
		class=$2
		shift
		;;
	--again) again=y ;;
	--survivors) survivors=y ;;
	--fresh) fresh=y ;;
	-h | --help) usage; exit 0 ;;
	-*) echo "run.sh: there is no option $1" >&2; usage >&2; exit 2 ;;
	*) break ;;
	esac
	shift
done
all_rooms="host lib emu shared fault passthrough datsim verbs"
rooms=${*:-$all_rooms}

# The sources of a room, one a line
sources() {
	case $1 in
	emu) find emu -name '*.c' ! -path 'emu/shared/*' ! -path 'emu/lockstep/*' ;;
	shared) find emu/shared emu/lockstep -name '*.c' ;;
	datsim) find tools/datsim -name '*.c' ! -name main.c ;;
	verbs) find verbs -name '*.c' ! -path 'verbs/provider/*' ;;
	host | lib | fault | passthrough) find "$1" -name '*.c' ;;
	*) echo "run.sh: there is no room '$1'" >&2; return 1 ;;
	esac | sort
}

# ---- the copy ----

# One build serves all changes. The library and the tool are shared objects in it, so that a change
# is one file to compile and one module to link; the tests are not touched. libdat.so only leads to
# the library, which libtool does not make so: tests that use its hidden names need them visible.
# The stub is no part of what is changed.
build_copy() {
	local shared='-rpath /nowhere'
	local name core tool
	printf '#!/bin/sh\nexec gcc -Wl,--no-as-needed "$@"\n' > "$work/cc" &&
		chmod +x "$work/cc" &&
		gcc -D_GNU_SOURCE -O2 -fPIC -c "$here/reached.c" -o "$work/reached.o" &&
		gcc -c "$here/wrapped.c" -o "$work/core.o" &&
		gcc -DTOOL -c "$here/wrapped.c" -o "$work/tool.o" || return
	core="$shared -Wl,$work/core.o" tool="$shared -Wl,$work/tool.o \$(EDIT_LIBS) -lm"
	for name in $(sed -n 's/^WRAPPED(\(.*\));/\1/p' "$here/wrapped.c"); do
		case $name in
		dat_*) tool="$tool -Wl,--wrap=$name" ;;
		*alloc) core="$core -Wl,--wrap=$name" tool="$tool -Wl,--wrap=$name" ;;
		*) core="$core -Wl,--wrap=$name" ;;
		esac
	done
	core="$core -Wl,--wrap=emu_backend,--defsym=__wrap_emu_backend=__real_emu_backend"
	grep -rl --include='*.h' 'visibility("hidden")' "$tree"/{host,emu,lib} |
		xargs sed -i 's/visibility("hidden")/visibility("default")/'
	sed -i 's/"\.hidden /".protected /' "$tree/emu/guard.c"
	cd "$tree" && ./bootstrap > bootstrap.out 2>&1 || return
	mkdir -p run && cd run && ../configure -q CFLAGS='-O1 -g' > configure.out 2>&1 || return
	make -s tests/stubverbs/libibverbs.so.1 tests/stubverbs/librdmacm.so.1 > stub.out 2>&1
	set -- make -j2 V=1 CC="$work/cc" CFLAGS='-O1 -g -fsanitize-coverage=trace-pc' \
		LIBS="-Wl,$work/reached.o" \
		LDFLAGS='-no-install -Wl,--enable-new-dtags,--copy-dt-needed-entries' \
		libdat_core_la_LIBADD="$core" \
		tools_datsim_libdatsim_la_LIBADD="$tool"
	"$@" libdat_core.la libdat.la > make.out 2>&1 || return
	gcc -shared -Wl,--no-as-needed,-soname,libdat.so.1 -Wl,-rpath,"$PWD/.libs" \
		-o .libs/libdat.so.1.0.0 .libs/libdat_core.so.0 &&
		"$@" check TESTS= >> make.out 2>&1
}

# A second build, of the tests that stage tsan of ./check runs: no processor shows what
# ThreadSanitizer knows of orders and locks. Those that fail without any change are left out, and so
# is test_fork_locks, which takes as long as all others.
build_sanitized() {
	local place=$work/tsan tests test
	mkdir -p "$place/run" && git archive HEAD | tar x -C "$place" || return
	cd "$place" && ./bootstrap > bootstrap.out 2>&1 && cd run &&
		../configure -q --enable-sanitizers=thread CFLAGS='-O1 -g' > configure.out 2>&1 ||
		return
	tests=$(make -s --no-print-directory list-tests | grep -E \
			-e '^tests/(unit/threads|litmus|kernel|passthrough)/test_' \
			-e '^tests/verbs/(test_verbs_torture|cm/test_rdmacm_ends)$' \
			-e '^tests/verbs/rsocket/test_rsocket(_values|_waits)?$' |
		grep -vE '/test_(shortage|fork_locks|quick)$')
	# shellcheck disable=SC2086
	make -j2 all > make.out 2>&1 &&
		make -j2 tests/provider/sample.la $tests >> make.out 2>&1 || return
	for test in $tests; do
		bash "$here/one.sh" sanitized "$work" 0 "$most" "$test" && echo "$test"
	done > passing
}

# How make compiled each file and linked each module: FILE OBJECT COMMAND, and MODULE COMMAND
commands() {
	local names='libdat_core\|libdatsim\|passthrough\|libibverbs\|librdmacm\|libdat-[a-z]*'
	local module="\\([^ ]*\\/\\($names\\)\\.so[^ ]*\\)"
	local object='-c \.\.\/\([^ ]*\.c\) .* -o \([^ ]*\.o\)'
	sed -n "s/^libtool: compile:  *\(.* $object\)\$/\2\t\3\t\1/p" "$tree/run/make.out" |
		grep -v '^tests/' > "$work/compile.tsv"
	sed -n "s/^libtool: link:  *\([^ ]*cc .*-shared .*-o $module\)\$/\2\t\1/p" \
		"$tree/run/make.out" > "$work/link.tsv"
}

prepare() {
	[ -z "$again" ] || rm -rf "$work"
	[ ! -f "$work/prepared" ] || return 0
	mkdir -p "$tree" && git archive HEAD | tar x -C "$tree" && git rev-parse --short HEAD \
		> "$work/commit" || return
	echo "building the copy" >&2
	(build_copy) && commands && touch "$work/prepared"
}

# Only where races are among what is tried.
prepare_sanitized() {
	[ -f "$work/tsan/prepared" ] || [ "$class" = plain ] && return
	echo "building the copy for ThreadSanitizer" >&2
	(build_sanitized) && touch "$work/tsan/prepared"
}

# ---- which test runs which line ----

work_all() {
	local worker
	for ((worker = 1; worker <= workers; worker++)); do
		bash "$here/one.sh" "$1" "$work" $$.$worker "$most" "$work/plan.$$" "$likely" \
			${fresh:+"$seed"} &
	done
	wait
}

# The tests of the copy: not those about sources, documents and installation, nor the lab's.
tests() {
	make -C "$tree/run" -s --no-print-directory list-tests |
		grep -Ev '^(doc|tests/(house|install|hwlab|check|conformance|headers|export|fuzz))/'
}

# Each test alone: how long it takes, and the code that it runs. One that was interrupted begins
# again; those that failed altogether are not asked again.
map() {
	local test module
	mkdir -p "$work/map" "$work/index"
	tests > "$work/tests"
	while read -r test; do
		test=$work/map/${test//\//@}
		[ -f "$test.ok" ] || rm -rf "$test"
	done < "$work/tests"
	echo "running $(wc -l < "$work/tests") tests without any change" >&2
	work_all map
	while IFS=$'\t' read -r module _; do
		perl "$here/reached.pl" table "$tree/run/$module" \
			> "$work/$(basename "${module%%.so*}").so.table"
	done < "$work/link.tsv"
	perl "$here/reached.pl" index "$work/index" "$work" "$work/map"
	touch "$work/mapped"
}

# ---- the campaign ----

# The changes of a room that are asked for
wanted() {
	local files
	files=$(cd "$tree" && sources "$1") || return
	cd "$tree" || return
	if [ -z "$only" ]; then
		xargs perl "$here/mutants.pl" sample "$seed" "$count" ${class:+"$class"} \
			<<< "$files"
	elif grep -qxF "$only" <<< "$files"; then
		perl "$here/mutants.pl" list "$only" |
			awk -F '\t' -v class="$class" 'class == "" || $5 == class'
	fi
}

# The samples of all rooms, one of each room after another, without those that have a row. A row's
# change is known by its function and its text: line numbers move. The last row of a change counts;
# its commit follows the change. What is argued is not tried.
plan() {
	local room home
	for room in $rooms; do
		home=$room
		[ -z "$only" ] || home=whole
		(wanted "$room") | awk -v OFS='\t' -v room="$home" '{ print NR, room, $0 }'
	done | sort -s -n -k1,1 | cut -f2- | awk -F '\t' -v survivors="$survivors" \
		-v fresh="$fresh" -v seed="$seed" -v copy="$(< "$work/commit")" '
		function plain(code) {
			gsub(/\\t/, " ", code)
			sub(/^ +/, "", code)
			return code
		}
		FILENAME ~ /arguments/ { argued[$1, $2, $3, $5]; next }
		FILENAME == "-" && (($2, plain($7), plain($8), "") in argued ||
			($2, plain($7), plain($8), $4) in argued) { next }
		FILENAME ~ /fresh/ { if ($9 == copy && $10 == seed) first[$1, $3, $7, $8]; next }
		FILENAME != "-" { outcome[$1, $3, $7, $8] = $6; at[$1, $3, $7, $8] = $9; next }
		{ known = outcome[$2, $4, $7, $8]; $0 = $0 "\t" at[$2, $4, $7, $8] }
		fresh && survivors && !(($2, $4, $7, $8) in first) { next }
		survivors ? known ~ /^(survived|unreached|once|busy)/ : known == ""' \
		"$here/arguments.tsv" "$here/fresh.tsv" "$results"/*.tsv -
}

# Every change that the sources of the copy allow: a row about a line that is gone counts no more.
present() {
	(
		cd "$tree" || exit
		for room in $all_rooms; do sources "$room"; done |
			xargs perl "$here/mutants.pl" list
	)
}

prepare || { echo "run.sh: the copy in $tree does not build; see make.out there" >&2; exit 1; }
trap 'kill $(jobs -p) 2> /dev/null' INT TERM
[ -f "$work/mapped" ] || map || exit
prepare_sanitized || { echo "run.sh: $work/tsan does not build; see make.out there" >&2; exit 1; }
for room in $rooms whole; do touch "$results/$room.tsv"; done
[ -n "$(for room in $rooms; do wanted "$room"; done)" ] || {
	echo "run.sh: no change fits${only:+ $only}: expected one source line of $rooms" >&2
	exit 1
}
plan > "$work/plan.$$"
echo 0 > "$work/plan.$$.taken"
echo "$(wc -l < "$work/plan.$$") changes to try" >&2
[ -s "$work/plan.$$" ] ||
	echo "none: each has a row in results/, so nothing is tested and the page is printed" >&2
work_all plant
rm -f "$work/plan.$$" "$work/plan.$$.taken"
present > "$work/present.tsv"
awk -f "$here/report.awk" -v commit="$(< "$work/commit")" "$work/present.tsv" \
	"$here/arguments.tsv" "$here/fresh.tsv" "$results"/*.tsv
