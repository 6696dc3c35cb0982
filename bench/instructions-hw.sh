#!/bin/sh
# Instructions that a 64-byte message costs on the passthrough, by callgrind: instructions-hw.sh [BUILD-DIR]. TAP.
#
# The device is that of tests/stubverbs, which costs as little as can be. Beside it the same job by bare verbs and by
# Debian's DAPL, if that is there: what is above bare verbs is the layer's own.
build=${1:-${top_builddir:-.}}
build=$(cd "$build" && pwd) || exit 99
source=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
stub=$build/tests/stubverbs

most_above=318 # instructions above bare verbs
wanted_above=120
rounds=2000

if [ ! -x "$build/bench/bench_verbs" ] || [ ! -e "$stub/librdmacm.so.1" ]; then
	echo "1..0 # SKIP built without the passthrough"
	exit 0
fi
if ! command -v valgrind > /dev/null; then
	echo "1..0 # SKIP valgrind is not installed"
	exit 0
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

# per_message FUNCTION PROGRAM ARGS...: what the function executes, calls included; of N rounds and of 2N the
# difference, so that what comes before and after is excluded
per_message() {
	function=$1
	shift
	for n in $rounds $((2 * rounds)); do
		LD_LIBRARY_PATH=$stub LD_PRELOAD=$stub/librdmacm.so.1 valgrind --tool=callgrind \
			--callgrind-out-file=/dev/null --toggle-collect="$function" "$@" "$n" 2>&1 |
			sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
	done | awk -v rounds="$rounds" '{ count[NR] = $1 }
		END { if (NR == 2) printf "%d\n", (count[2] - count[1]) / rounds + 0.5 }'
}

conf() {
	for adapter in emu0 emu1; do
		echo "$adapter $1 nonthreadsafe default $2 \"\""
	done
}

bare=$(per_message verbs_run "$build/bench/bench_verbs")

conf u1.2 'libdat.so.1 dapl.1.2 "stub0"' > "$work/libdat.conf"
libdat=$(DAT_PROVIDER=hw DAT_OVERRIDE=$work/libdat.conf \
	DAT_HW_MODULE=$build/passthrough/.libs/passthrough.so \
	per_message library_run "$build/bench/bench_message" one library)

dapl=
if [ ! -e /usr/include/dat2/udat.h ]; then
	no_dapl="libdapl-dev is not installed"
elif ! ${CC:-cc} -O2 -D_GNU_SOURCE -DBENCH_DAT2 -iquote "$source/bench" "$source/bench/library.c" \
	"$source/bench/bench_dat2.c" -o "$work/bench_dat2" -ldat2 2> "$work/errors"; then
	no_dapl="it cannot be compiled: $(head -n 1 "$work/errors")"
else
	conf u2.0 'libdaplofa.so.2 dapl.2.0 "192.0.2.1 0"' > "$work/dapl.conf"
	dapl=$(DAT_OVERRIDE=$work/dapl.conf per_message library_run "$work/bench_dat2")
	no_dapl="it did not run on the stub"
fi

above=$((${libdat:-0} - ${bare:-0}))
echo 1..3
echo "# instructions a message      in all   above bare verbs"
printf '# %-24s %8s\n' "bare verbs" "${bare:-?}"
printf '# %-24s %8s %12s   wanted: at most %s\n' "libdat, DAT_PROVIDER=hw" "${libdat:-?}" "$above" "$wanted_above"
[ -z "$dapl" ] || printf '# %-24s %8s %12s\n' "Debian's DAPL 2.1.10" "$dapl" "$((dapl - ${bare:-0}))"

n=0
# verdict STATUS TITLE
verdict() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

[ -n "$bare" ] && [ -n "$libdat" ]
verdict $? "both are counted"
[ "$above" -gt 0 ] && [ "$above" -le "$most_above" ]
verdict $? "$above instructions above bare verbs, at most $most_above"
if [ -z "$dapl" ]; then
	echo "ok 3 - beside DAPL # SKIP $no_dapl"
else
	echo "# libdat needs $above above bare verbs, DAPL $((dapl - bare))"
	[ "$dapl" -gt "$bare" ]
	verdict $? "DAPL's layer is counted: $((dapl - bare))"
fi
