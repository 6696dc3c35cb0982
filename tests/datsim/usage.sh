#!/bin/sh
# datsim's command line: output, streams and exit status.
. "$(dirname "$0")/begin.sh"
cd "$scratch" || exit 99

# same WHAT ARGS ARGS: does datsim test print the same for both?
same() {
	# shellcheck disable=SC2086
	"$datsim" test $2 > first 2>&1 < /dev/null
	# shellcheck disable=SC2086
	"$datsim" test $3 > second 2>&1 < /dev/null
	holds "$1" cmp first second
}

cat > good.dsim << 'END'
use adapter a@emu0
    a: dat_pz_query(pz) -> {ia_handle=ia}
end quiet
END
cat > fails.dsim << 'END'
use adapter a@emu0
    a: dat_pz_query(pz) -> {ia_handle=pz}
END
cat > passes-but-must-fail.dsim << 'END'
# Failure: something
use adapter a@emu0
END
cat > fails-otherwise.dsim << 'END'
# Failure: something altogether different
use adapter a@emu0
    a: dat_pz_query(pz) = DAT_INVALID_STATE
END
cat > no-regex.dsim << 'END'
# Failure: (
use adapter a@emu0
END
cat > interval.dsim << 'END'
# Failure: (a{1,255}){1,255}
use adapter a@emu0
END
cat > busy.dsim << 'END'
fabric rnr_retry=7 rnr_timer=100ms
use connected a@emu0 b@emu1
    a: dat_ep_post_send(ep, 1)
end quiet
END
cat > call-faults.dsim << 'END'
use connected a@emu0 b@emu1
    fault call dat_ep_post_recv after=1 times=1 fail DAT_INTERNAL_ERROR
    fault call dat_ep_post_send fail DAT_INTERNAL_ERROR optional
    b: dat_ep_post_recv(ep, 64)
    b: dat_ep_post_recv(ep, 64) = DAT_INTERNAL_ERROR
    b: dat_ep_post_recv(ep, 64)
end quiet
END
echo 'use adapter' > bad.dsim
cat > talks.dsim << 'END'
use connected a@emu0 b@emu1
    b: dat_ep_post_recv(ep, 64)
    a: dat_ep_post_send(ep, 64)
*   b: event recv DTO_COMPLETION
END
mkdir folder empty
cp good.dsim folder/b.dsim
cp good.dsim folder/a.dsim
printf 'libdat trace 1\n# seed=1\n10 emu0.ep1 create\n5 emu0.ep1 free\n' > back.trace
printf 'libdat trace 1\n# seed=1\n10 emu0.ep1 create\n# end lines=2\n' > cut.trace
printf 'libdat trace 1\n# seed=1\nten emu0.ep1 create\n' > text.trace
printf 'libdat trace 1\n5 emu0.ep1 create\n# end lines=1\n' > whole.trace

echo 1..123
expect 2 'expected a command'
expect 2 'true \+ true2 opened no simulated adapter' explore -- true + true
expect 0 'datsim test  *run scripts as tests' --help
expect 0 'datsim run  *run programs, of uDAPL or verbs,' help help
expect 0 '^datsim [0-9]' --version
expect 2 'device needs --provider hw' test --device rxe0 good.dsim
expect 2 'provider wants emu or hw, got .soft.' test --provider soft good.dsim
expect 2 'slow wants a whole number from 1 to 1000, got .0.' test --provider hw --slow 0 good.dsim
expect 1 'set-up failed' test --provider hw --device nonesuch good.dsim
expect 2 'one name or two' test --provider hw --device a,b,c good.dsim
expect 2 '^datsim: unknown command tset; did you mean test[?]$' tset good.dsim
expect 2 'expected --nth with alloc, post or event' sweep
expect 0 'A script' test --help
expect 2 'expected a script' test
expect 0 '^ok 1 - good.dsim' test good.dsim
# Some editors write a byte order mark in front.
for script in good bad; do
	printf '\357\273\277' | cat - $script.dsim > marked-$script.dsim
done
expect 0 '^ok 1 - marked-good.dsim' test marked-good.dsim
expect 2 '^# marked-bad.dsim:1:12: expected an actor' test marked-bad.dsim
printf '\n\357\273\277use adapter a@emu0\n' > later.dsim
expect 2 'later.dsim:2:1: ' test later.dsim
expect 1 '^# fails.dsim:2: dat_pz_query gave other values' test fails.dsim
expect 1 '^# actual:   a: dat_pz_query\(pz\) -> \{ia_handle=ia\}' test fails.dsim
expect 1 '^# replay:   datsim test --seed 7 fails.dsim' test --seed 7 fails.dsim
expect 1 'the script passed, and should have failed' test passes-but-must-fail.dsim
expect 1 'the script failed, but not as it says' test fails-otherwise.dsim
expect 2 'is no regular expression' test no-regex.dsim
expect 2 'for a brace' test interval.dsim
expect 4 'does not become quiet' test busy.dsim
# What was due when the script began is due now, not in six hundred years.
printf 'use connected a@emu0 b@emu1\nfault adapter a down\n' > due.dsim
expect 1 '^#   1 event of the fabric, the next at 0us$' test due.dsim
expect 0 '^ok 1 - call-faults.dsim' test call-faults.dsim
expect 2 '^# bad.dsim:1:12: expected an actor' test bad.dsim
expect 2 'nonesuch.dsim: No such file' test nonesuch.dsim
expect 2 'no script' test empty
expect 0 '^ok 2 - folder/b.dsim' test folder
# A link that leads back is not followed, others are: its own script, and the two of folder.
mkdir -p looped/in
cp good.dsim looped
ln -s ../../looped looped/in/up
ln -s ../folder looped/other
expect 0 '^1\.\.3$' test looped
expect 1 '^ok 3 - good.dsim' test good.dsim fails.dsim good.dsim
expect 2 '^datsim test: unknown option --loud$' test --loud good.dsim
behind() {
	"$datsim" show --width 80 --until 5us whole.trace > behind.a &&
		"$datsim" show whole.trace --width 80 --until=5us | cmp - behind.a
}
holds "options may stand behind the file" behind
expect 2 'unknown option --widht; did you mean --width' show whole.trace --widht 80
expect 2 '^-x: No such file' show -- -x
expect 2 '^datsim: unknown option --versoin; did you mean --version.$' --versoin
expect 2 '-j wants a whole number from 0 to 256, got .many.' test -j many good.dsim
expect 2 '-j wants a whole number from 0 to 256, got .257.' test -j 257 good.dsim
expect 1 '^not ok 2 - fails.dsim' test -j 3 good.dsim fails.dsim good.dsim bad.dsim
expect 0 '^ok 2 - folder/b.dsim' test -j 0 folder
expect 2 'cannot write /nowhere/x.xml' test --junit /nowhere/x.xml good.dsim
expect 1 'not ok 1' test --junit seen.xml fails.dsim good.dsim nonesuch.dsim
same "results do not depend on how many run at a time" \
	"-j 1 --junit one.xml good.dsim fails.dsim folder bad.dsim" \
	"-j 4 --junit four.xml good.dsim fails.dsim folder bad.dsim"
sed -i 's/time="[0-9.]*"//' one.xml four.xml
holds "the JUnit file is the same, too, but for times" cmp one.xml four.xml
holds "it has the file and the line of what failed" grep -qE \
	'name="fails.dsim" file="fails.dsim" line="[0-9]+" time="[0-9]+\.[0-9]{3}"' seen.xml
holds "it is XML" xmllint --noout seen.xml
holds "it counts failures and errors" grep -q 'tests="3" failures="1" errors="1" skipped="0"' \
	seen.xml
expect 2 'seed wants a whole number from 0 to 18446744073709551615, got .x.' \
	test --seed x good.dsim
expect 2 'takes one script' test --trace t good.dsim good.dsim
expect 0 '^ok 1' test --trace good.trace good.dsim
expect 0 'time, us' show good.trace
expect 2 'back.trace:4: time goes back' show back.trace
expect 2 'cut.trace:4: lines are missing' show cut.trace
expect 2 'text.trace:3: expected a time' show text.trace
expect 2 'good.dsim:1: not a trace' show good.dsim
expect 0 'emu0: dat_ep_create.ep1' show whole.trace
expect 2 "from wants a time such as 12.5us or 3ms, got '3h'" show --from 3h whole.trace
expect 2 "until wants a time such as 12.5us or 3ms, got 'soon'" show --until soon whole.trace
expect 2 'from is later than --until' show --from 3us --until 2us whole.trace
expect 2 'grep wants a regular expression, got \(: ' show --grep '(' whole.trace
expect 2 "color wants auto, always or never, got 'red'" show --color red whole.trace
expect 2 "width wants .*40.*, got '39'" show --width 39 whole.trace
expect 2 'no EP or QP is called "qp1" in this trace; there are: emu0.ep1' show --qp qp1 whole.trace
expect 2 'no program is called "x" in this trace; there are: emu0' show --program x whole.trace
expect 0 'note: no line of the trace fits the filter' show --grep nothing whole.trace
expect 2 'unknown option --no-paper; did you mean --no-pager' show --no-paper whole.trace
expect 2 'pcapng wants a file to write, got nothing' show --pcapng
expect 2 'expected one trace file' replay
expect 0 'DATSIM_LATENCY_NS' info
expect 2 'expected no arguments, got .x.' shell x
expect 2 'expected a program' run
expect 2 'expected one script, or -- PROGRAM' explore
cat > dat.conf << 'END'
OpenIB-cma u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 "emu0" ""
rnic0 u1.2 maybe default librnic.so.1 rnic.1.2 "" ""
END
DAT_OVERRIDE=dat.conf
export DAT_OVERRIDE
expect 0 '^  .dat.conf: dat.conf, adapters 1, lines skipped 1.$' info
expect 0 '^  OpenIB-cma  *uDAPL 1.2$' info
expect 0 'dat.conf:2: field 3, thread safety: expected threadsafe or nonthreadsafe' info
DAT_OVERRIDE=nonexistent
expect 2 'DAT_OVERRIDE=nonexistent: No such file or directory; name a dat.conf' info
expect 2 '^# DAT_OVERRIDE makes no sense, see stderr' test good.dsim
expect 2 '^libdat: DAT_OVERRIDE=nonexistent: No such file' explore --runs 1 good.dsim
DAT_OVERRIDE=/dev/null
# A variable that makes no sense is wrong usage. Some are read when a fabric is made.
for variable in DATSIM_SEED=x DATSIM_ADDRESSES=bad DATSIM_TRACE=/nowhere/x; do
	export "${variable?}"
	expect 2 '^# (good.dsim: no fabric: )?a DATSIM_ variable makes no sense, see stderr' \
		test good.dsim
	expect 2 "^libdat: .*(${variable%=*}=${variable#*=}|/nowhere/x)" test good.dsim
	expect 2 'emu0 cannot be opened' info
	unset "${variable%=*}"
done
DATSIM_FABRIC=/x
export DATSIM_FABRIC
expect 2 'a shared fabric cannot be called "/x"' info
unset DATSIM_FABRIC
# On a device there is no trace, and no fault.
DAT_PROVIDER=hw
DAT_HW_MODULE=/nowhere/module.so
export DAT_PROVIDER DAT_HW_MODULE
expect 2 'cannot be loaded: /nowhere/module.so' info
unset DAT_HW_MODULE
cp good.trace old.trace
expect 2 'test: --trace: a device has no trace: expected emu' test --trace old.trace good.dsim
expect 2 'test: --show: a device has no trace: expected emu' test --show good.dsim
expect 2 'run: --trace: a device has no trace: expected emu' run --trace old.trace true
expect 2 'run: --capture: a device has no trace: expected emu' run --capture old.pcapng true
holds "an older trace stays" cmp good.trace old.trace
expect 2 'DAT_PROVIDER=hw: scripts are swept on emu' sweep --nth post good.dsim
expect 2 'DAT_PROVIDER=hw: scripts are explored on emu' explore good.dsim
expect 2 'DAT_PROVIDER=hw: lines run on emu' shell
unset DAT_PROVIDER
expect 2 'test: --trace: a device has no trace: expected emu' test --provider hw --trace old.trace \
	good.dsim
expect 0 '^datsim sweep --nth alloc\|post\|event \[--persistent\] \[--share P\]' sweep --help

# ---- colours, and what libdat prints ----

esc=$(printf '\033')
coloured() { grep -q "$esc\\[31mnot ok$esc\\[0m 1" out && grep -q "# $esc\\[31mactual:" out; }
"$datsim" test --color always fails.dsim > out 2> errors
holds "a failure is red with --color always" coloured
"$datsim" test --color=never fails.dsim > plain 2> errors
"$datsim" test fails.dsim > out 2> errors
holds "and plain in a file" cmp plain out
holds "which has no escape sequences" sh -c "! grep -q '$esc' plain"
holds "a terminal gets colours" sh -c "env TERM=xterm NO_COLOR= script -qec \
	\"'$datsim' test fails.dsim\" /dev/null < /dev/null | grep -q '$esc'"
holds "not with NO_COLOR" sh -c "! env TERM=xterm NO_COLOR=1 script -qec \
	\"'$datsim' test fails.dsim\" /dev/null < /dev/null | grep -q '$esc'"
"$datsim" sweep --nth post --color always good.dsim > out 2> errors
holds "sweep has colours, too" grep -q "^$esc\\[32mok$esc\\[0m 1" out
cat > absent.dsim << 'END'
use adapter a@emu0
    a: dat_ia_open("nonesuch") = DAT_PROVIDER_NOT_FOUND
END
"$datsim" test absent.dsim > out 2> errors
holds "a line of libdat comes once, though a script runs twice" \
	test "$(grep -c 'no adapter "nonesuch"' errors)" -eq 1
"$datsim" test -j 2 absent.dsim good.dsim > out 2> errors
holds "also with two at a time" test "$(grep -c 'no adapter "nonesuch"' errors)" -eq 1

# Names are compared with thousands of others only for messages that are shown: it took minutes. The
# limit is of processor time, so other work does not matter.
seq 4000 | sed 's/.*/a: dat_pz_create(ia) -> a_name_that_is_as_long_as_names_are_&/
1i use adapter a@emu0' > names.dsim
seq 15000 | sed 's/.*/a: dat_pz_query(a_name_that_is_as_long_but_none_of_them)/' >> names.dsim
soon() {
	(
		ulimit -t 60
		exec "$datsim" test names.dsim
	) > out 2>&1 || [ $? -eq 2 ]
}
holds "a script in which thousands of lines are bad is refused soon" soon

# What cannot be read is not left out.
mkdir part
cp good.dsim part/a.dsim
ln -s nowhere part/b.dsim
expect 2 '^# part/b.dsim: No such file' test part
rm part/b.dsim
mkdir -m 000 part/closed
# plain COMMAND...: without the right of root to read everything
plain() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --bounding-set=-all "$@"
	else
		"$@"
	fi
}
closed() {
	plain "$datsim" test part > out 2>&1
	[ $? = 2 ] && grep -q '^ok 1 - part/a.dsim' out &&
		grep -q '^# part/closed: Permission denied' out
}
if plain true 2> noise; then
	holds "nor is a folder" closed
else
	cannot "root cannot give up its rights here" "nor is a folder"
fi
printf 'use adapter a@emu0\n\0\n' > nul.dsim
expect 2 'nul.dsim:2: expected a script, found a NUL byte' test nul.dsim
expect 2 'help takes one command, got .test. as well' help run test
expect 2 'no fault of 1 schedule ever acted' explore --runs 1 talks.dsim
expect 2 '^datsim explore: --out folder cannot be written: Is a directory' explore --out folder \
	talks.dsim
for command in run explore; do
	expect 2 "^datsim $command: --node is for several programs, or for one with --lockstep" \
		"$command" -- --node x true
	expect 2 'expected --node NAME PROGRAM' $command --lockstep -- --node '' true
	expect 2 'expected --node NAME PROGRAM' $command --lockstep -- --node x --node y true
done
