#!/bin/sh
# The programs of the package ibverbs-utils, as they come, on the simulated fabric: alone, between
# two processes in real time and in lockstep. Judged by what they print.
. "$(dirname "$0")/begin.sh"
needs libibverbs ibverbs-utils ibv_devices ibv_devinfo ibv_rc_pingpong ibv_srq_pingpong \
	ibv_uc_pingpong ibv_ud_pingpong ibv_xsrq_pingpong

# Each option that the programs have in common, all at once, in real time and in lockstep. -c: they
# compare what arrived with what was sent, and say so if it differs.
whole_list() {
	for mode in '' --lockstep; do
		for type in rc uc srq ud; do
			size=1048576
			[ $type != ud ] || size=4096 # as long as a datagram can be
			# shellcheck disable=SC2086
			prints "${type}_pingpong -g 0 -e -s $size -c ${mode:-in real time}" 4 \
				"^$((2 * 60 * size)) bytes in |^60 iters in |invalid data" \
				pair $mode -- ibv_${type}_pingpong -g 0 -e -s $size -c -n 60
		done
	done
}

refuses_xrc() {
	! pair -- ibv_xsrq_pingpong -g 0
}

echo 1..29
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
whole_list
# 95 is EOPNOTSUPP.
prints "xsrq_pingpong says that there is no XRC" 2 "^Couldn't Open the XRC Domain 95$" refuses_xrc
next_port
prints "rc_pingpong, which meets by TCP, leaves one trace in lockstep" 1 '^same$' \
	same_trace ibv_rc_pingpong -g 0 -n 100 -e -p $port + \
	ibv_rc_pingpong -g 0 -n 100 -e -p $port localhost
prints "srq_pingpong" 2 '^100 iters in ' pair --lockstep -- ibv_srq_pingpong -g 0 -n 100
prints "ud_pingpong, in lockstep" 2 '^100 iters in ' \
	pair --lockstep --trace "$work/ud.trace" -- ibv_ud_pingpong -g 0 -n 100
prints "ud_pingpong without a GRH, with events" 2 '^100 iters in ' \
	pair -- ibv_ud_pingpong -n 100 -e
prints "uc_pingpong, in lockstep" 2 '^10000000 bytes in ' \
	pair --lockstep --trace "$work/uc.trace" -- ibv_uc_pingpong -g 0 -n 100 -s 50000
prints "uc_pingpong without a GRH" 2 '^20971520 bytes in ' \
	pair -- ibv_uc_pingpong -n 10 -s 1048576
prints "a trace names each datagram" 200 ' packet .* op=UD_SEND_ONLY ' cat "$work/ud.trace"
# Errors alone are printed.
prints "captures have datagrams and the packets of UC" 0 '.' \
	sh -c "for i in ud uc; do '$datsim' show --pcapng $work/capture $work/\$i.trace; done"
prints "--no-verbs leaves the system's library" 0 'emu0' \
	sh -c "'$datsim' run --quiet --no-verbs -- ibv_devices || true"
export DATSIM_LINK_LAYER=ethernet DATSIM_VERBS_NAME=rxe
prints "rc_pingpong on Ethernet" 2 '^100 iters in ' pair -- ibv_rc_pingpong -g 1 -n 100
prints "ibv_devinfo says Ethernet" 2 'link_layer:[[:space:]]+Ethernet' \
	"$datsim" run --quiet -- ibv_devinfo
prints "devices have the name asked for" 2 '^ +rxe[01] ' "$datsim" run --quiet -- ibv_devices
export DATSIM_LINK_LAYER=token
prints "another link layer is refused" 1 'expected infiniband or ethernet' \
	sh -c "'$datsim' run --quiet -- ibv_devices || true"
