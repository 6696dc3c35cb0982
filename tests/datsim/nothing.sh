#!/bin/sh
# Nothing was tested: each command of datsim says so, and fails. tests/processes/run.sh and
# datsim/run.sh have the same of datsim run.
. "$(dirname "$0")/begin.sh"
cd "$scratch" || exit 99

: > empty.dsim
echo '# a comment' > comment.dsim
echo 'use bare a@emu0' > bare.dsim
printf 'fabric latency=1us\nuse bare a@emu0\n+1us quiet\n' > time.dsim
echo 'use adapter a@emu0' > adapter.dsim
mkdir folder
printf 'libdat trace 1\n' > settings.trace
printf 'libdat trace 1\n# end lines=0\n' > ended.trace
: > empty.trace

echo 1..30
for script in empty comment bare time; do
	expect 2 'no line makes a call, so nothing is tested' test $script.dsim
	expect 2 'no line makes a call, so nothing is tested' explore --runs 3 $script.dsim
	expect 2 'no script has such an operation: nothing was swept' sweep --nth alloc \
		$script.dsim
done
expect 0 '^ok 1 - adapter.dsim' test adapter.dsim
expect 2 'nothing was swept' sweep --nth post adapter.dsim
expect 2 'nothing was swept' sweep --nth alloc --only 1000000 adapter.dsim
expect 2 'no script .* under folder' test folder
expect 2 'no script .* under folder' sweep --nth alloc folder
expect 2 'no script .* under folder' conformance folder
expect 2 'true opened no simulated adapter: nothing was explored' explore --runs 3 -- true
for trace in settings ended; do
	expect 2 'nothing happens in this trace' show $trace.trace
	expect 2 'nothing happens in this trace' show --svg picture.svg $trace.trace
	expect 2 'nothing happens in this trace' show --pcapng packets.pcapng $trace.trace
done
expect 2 'not a trace' show empty.trace
expect 2 'not a trace' replay empty.trace
expect 2 'no line came that runs' shell
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
expect 0 'there is no shared fabric' fabric list
holds "no picture was written" [ ! -e picture.svg ]
