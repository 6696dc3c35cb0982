#!/bin/sh
# Nothing was tested: each command of datsim says so, and fails. tests/processes/run.sh and
# datsim/run.sh have the same of datsim run.
. "$(dirname "$0")/begin.sh"
behaves=$top/tests/datsim/behaves
needs "$behaves"
cd "$scratch" || exit 99

: > empty.dsim
echo '# a comment' > comment.dsim
echo 'use bare a@emu0' > bare.dsim
printf 'fabric latency=1us\nuse bare a@emu0\n+1us quiet\n' > time.dsim
echo 'use adapter a@emu0' > adapter.dsim
printf 'use connected a@emu0 b@emu1\n    a: dat_ep_query(ep)\n' > quiet.dsim
printf 'use connected a@emu0 b@emu1\n    a: dat_ep_disconnect(ep)\n    quiet\n' > ends.dsim
echo '# no line' > no-line.dsim
printf 'use connected a@emu0 b@emu1\n    b: dat_ep_post_recv(ep, 64)\n' > one.dsim
mkdir folder
printf 'libdat trace 1\n' > settings.trace
printf 'libdat trace 1\n# end lines=0\n' > ended.trace
: > empty.trace

# A process for each point takes a pipe, for which 4 descriptors are too few. Those of make go.
sweep_without_pipe() {
	(exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- && ulimit -n 4 &&
		exec "$datsim" sweep --nth post one.dsim) > swept 2>&1
}

echo 1..44
for script in empty comment bare time; do
	expect 2 'no line makes a call, so nothing is tested' test $script.dsim
	expect 2 'no line makes a call, so nothing is tested' explore --runs 3 $script.dsim
	expect 2 'no line makes a call, so nothing is tested' sweep --nth alloc $script.dsim
done
expect 0 '^ok 1 - adapter.dsim' test adapter.dsim
expect 2 'no script has such an operation: nothing was swept' sweep --nth post adapter.dsim
sweep_without_pipe
holds 'sweep without a pipe fails' [ $? -eq 3 ]
holds 'sweep says why' grep -q '^# Too many open files' swept
expect 2 'nothing was swept' sweep --nth alloc --only 1000000 adapter.dsim
expect 2 'no script .* under folder' test folder
expect 2 'no script .* under folder' sweep --nth alloc folder
expect 2 'no script .* under folder' conformance folder
expect 2 'true opened no simulated adapter: nothing was explored' explore --runs 3 -- true
# A program of another name is a child of neither.
expect 1 'true opened no simulated adapter, or made no object on it: it' \
	run -- env DATSIM_NODE=another "$behaves" silent + true
expect 2 'behaves sent no packet, so no fault could act in 3 schedules: nothing was tested' \
	explore --runs 3 -- "$behaves" silent
DATSIM_PROFILE=iwarp
export DATSIM_PROFILE
expect 2 '50 schedules had no fault of these kinds, so nothing was tested' \
	explore --runs 50 --faults rnr -- "$behaves" well
unset DATSIM_PROFILE
for script in adapter quiet; do
	expect 2 'no packet crosses a link after the set-up, .* nothing was explored' \
		explore --runs 3 $script.dsim
done
expect 2 'no fault of 100 schedules ever acted, so nothing was tested' \
	explore --runs 100 --faults rnr ends.dsim
expect 0 '100 schedules of seed 1 hold' explore --runs 100 --faults latency ends.dsim
expect 1 'it opened no simulated adapter: nothing was tested' run --script no-line.dsim true
expect 0 'no-line.dsim: no line of it sets or fails anything' run --script no-line.dsim \
	"$behaves" well
for trace in settings ended; do
	expect 2 'nothing happens in this trace' show $trace.trace
	expect 2 'nothing happens in this trace' show --svg picture.svg $trace.trace
	expect 2 'nothing happens in this trace' show --pcapng packets.pcapng $trace.trace
done
expect 2 'not a trace' show empty.trace
expect 2 'not a trace' replay empty.trace
expect 2 'no line came that runs' shell
expect 2 'hwcheck: expected one device' hwcheck
expect 2 'no_device cannot be opened' hwcheck no_device
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
expect 0 'there is no shared fabric' fabric list
"$datsim" run --quiet --lockstep --trace true.trace -- true 2> said
expect 2 'nothing happens in this trace, now as then: nothing was compared' replay true.trace
holds "no picture was written" [ ! -e picture.svg ]
