#!/bin/sh
# The programs of the package ibverbs-utils, as they come, on the simulated fabric: alone, between
# two processes in real time and in lockstep. Judged by what they print.
datsim=$top_builddir/tools/datsim/datsim

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}
[ -e "$top_builddir/verbs/.libs/libibverbs.so.1" ] || skip "the verbs front is not built"
for program in ibv_devices ibv_devinfo ibv_rc_pingpong ibv_srq_pingpong ibv_uc_pingpong \
	ibv_ud_pingpong; do
	command -v $program > /dev/null || skip "$program is missing: apt-get install ibverbs-utils"
done
if ${NM:-nm} "$datsim" | grep -qE '__(asan|tsan)_init'; then
	skip "a program without a sanitizer cannot load a library with one"
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
n=0

# prints TITLE TIMES LINE COMMAND...: the command succeeds, and so many lines match
prints() {
	n=$((n + 1))
	title=$1
	times=$2
	line=$3
	shift 3
	if "$@" > "$work/out" 2>&1 < /dev/null &&
		[ "$(grep -cE "$line" "$work/out")" -eq "$times" ]; then
		echo "ok $n - $title"
	else
		echo "not ok $n - $title"
		sed 's/^/# /' "$work/out"
	fi
}

# A TCP port for the programs to meet at; they do not look for a free one.
port=$((20000 + $$ % 10000))
# pair OPTIONS OF DATSIM -- PROGRAM ARGS: it and itself
pair() {
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	port=$((port + 1))
	# shellcheck disable=SC2086
	"$datsim" run $options -- "$@" -p $port + "$@" -p $port localhost
}

echo 1..16
prints "ibv_devices lists two" 2 '^ +emu[01] +.*[0-9a-f]{16}$' "$datsim" run --quiet -- ibv_devices
prints "ibv_devinfo finds the port active" 2 'state:[[:space:]]+PORT_ACTIVE' \
	"$datsim" run --quiet -- ibv_devinfo -v
prints "eval of datsim env does the same" 2 '^ +emu[01] ' \
	sh -c "unset LD_LIBRARY_PATH; eval \"\$('$datsim' env)\" && ibv_devices"
prints "rc_pingpong, in lockstep" 2 '^1000 iters in ' \
	pair --lockstep -- ibv_rc_pingpong -g 0
cp "$work/out" "$work/lockstep"
prints "both ends moved all bytes" 2 '^8192000 bytes in ' cat "$work/lockstep"
prints "rc_pingpong, in real time" 2 '^100 iters in ' pair -- ibv_rc_pingpong -g 0 -n 100
prints "rc_pingpong with events" 2 '^100 iters in ' pair -- ibv_rc_pingpong -g 0 -n 100 -e
prints "rc_pingpong with long messages" 2 '^209715200 bytes in ' \
	pair -- ibv_rc_pingpong -g 0 -n 100 -s 1048576 -c
prints "srq_pingpong" 2 '^100 iters in ' pair --lockstep -- ibv_srq_pingpong -g 0 -n 100
prints "ud_pingpong, in lockstep" 2 '^100 iters in ' \
	pair --lockstep --trace "$work/ud.trace" -- ibv_ud_pingpong -g 0 -n 100
prints "ud_pingpong without a GRH, with events" 2 '^100 iters in ' \
	pair -- ibv_ud_pingpong -n 100 -e
prints "uc_pingpong, in lockstep" 2 '^10000000 bytes in ' \
	pair --lockstep --trace "$work/uc.trace" -- ibv_uc_pingpong -g 0 -n 100 -s 50000
prints "uc_pingpong with long messages" 2 '^20971520 bytes in ' \
	pair -- ibv_uc_pingpong -n 10 -s 1048576 -c
prints "a trace names each datagram" 200 ' packet .* op=UD_SEND_ONLY ' cat "$work/ud.trace"
# Errors alone are printed.
prints "captures have datagrams and the packets of UC" 0 '.' \
	sh -c "for i in ud uc; do '$datsim' show --pcapng $work/capture $work/\$i.trace; done"
prints "--no-verbs leaves the system's library" 0 'emu0' \
	sh -c "'$datsim' run --quiet --no-verbs -- ibv_devices || true"
