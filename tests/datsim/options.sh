#!/bin/sh
# The command line of every command: unknown options, values that are missing, bad or out of range,
# --name=VALUE, --, suggestions, and help from the same tables. What the options do is tested
# elsewhere.
. "$(dirname "$0")/begin.sh"
cd "$scratch" || exit 99
most=18446744073709551615

printf 'use adapter a@emu0\nend quiet\n' > good.dsim
mkdir suite
printf '# dat_pz_query: a suite of one script (A1)\nuse adapter a@emu0\nend quiet\n' \
	> suite/good.dsim

# A command and its options that take a value.
with_values() {
	cat << 'END'
test -j --junit --seed --trace --color --provider --device --slow
show --from --until --ep --qp --program --grep --color --width --svg --html --pcapng
run --script --seed --profile --hostile --alias --addresses --hang --trace --capture
sweep --nth --share --seed --only --color
explore --runs --seconds -j --seed --first --shard --faults --out --hang --store --failures --json
merge --out --json
conformance --provider --device --slow -j --junit --color
hwcheck --seconds --verbs
END
}

# COMMAND OPTION VALUE: values that will not do
bad_values() {
	cat << END
test -j many
test -j 257
test -j -1
test --seed x
test --seed ${most}0
test --seed 1x
test --provider soft
test --slow 0
test --slow 1001
test --trace -
test --junit -
test --color red
show --from noon
show --until 3h
show --until 400000000min
show --color red
show --width 39
show --width 2001
run --hostile rude
run --addresses 1.2.3
run --addresses 10.1.2.0
run --addresses 10.1.2.3/24
run --addresses 10.1.2.0/29
run --addresses 127.0.0.0/8
run --addresses 0.0.0.0/8
run --trace -
run --hang never
run --hang 1.2.3
sweep --color red
conformance --color red
run --seed 0x10
run --profile tcp
run --alias ib0
run --alias =emu0
sweep --nth nothing
sweep --share 101
sweep --only 0
sweep --seed -1
conformance --junit -
explore --out -
explore --runs 0
explore --seconds 2147483648
explore -j 1.5
explore --first second
explore --shard 4/3
explore --shard 0/3
explore --shard 1
explore --faults lost
explore --faults drop,
explore --hang long
explore --hang 0
explore --failures 0
explore --failures some
explore --failures 1x
conformance --provider soft
conformance --slow 1001
conformance -j 257
hwcheck --seconds 9
hwcheck --seconds 601
hwcheck --seconds long
END
}
# Every command that there is
commands=$("$datsim" help | sed -n 's/^  datsim \([a-z]*\)  .*/\1/p')

# says STATUS PATTERN ARGS...: datsim exits so and prints that
says() {
	wanted=$1
	pattern=$2
	shift 2
	"$datsim" "$@" > out 2>&1 < /dev/null
	got=$?
	[ "$got" -eq "$wanted" ] && grep -qE -e "$pattern" out && return
	echo "datsim $*: exit status $got, expected $wanted; expected to find: $pattern"
	cat out
	return 1
}

unknown() {
	for command in $commands; do
		says 2 "^datsim $command: unknown option --nonesuch\$" "$command" --nonesuch &&
			says 2 "^datsim $command: unknown option --nonesuch\$" "$command" \
				--nonesuch=3 x &&
			says 2 "^datsim $command: unknown option -x\$" "$command" -x &&
			says 2 "^there are .*--help" "$command" --nonesuch &&
			says 2 "^try .datsim $command --help.\$" "$command" --nonesuch || return
	done
}

missing() {
	with_values | while read -r command options; do
		for option in $options; do
			says 2 "^datsim $command: $option wants .*, got nothing\$" "$command" \
				"$option" &&
				says 2 "^datsim $command: $option wants .*, got ''\$" \
					"$command" "$option" '' x || exit
		done
	done
}

# Is each option that takes a value in the list above?
listed() {
	for command in $commands; do
		"$datsim" help "$command" | sed -nE 's/^  (-j|--[a-z-]+) [^ ].*/\1/p' |
			while read -r option; do
				"$datsim" "$command" "$option" 2>&1 < /dev/null |
					grep -q "$option wants .*, got nothing" || continue
				with_values | grep "^$command " | grep -qF -e "$option" && continue
				echo "$command $option is not tried"
				exit 1
			done || return
	done
}

bad() {
	bad_values | while read -r command option value; do
		says 2 "^datsim $command: $option wants .*, got '$value'\$" \
			"$command" "$option" "$value" x || exit
		case $option in
		--*)
			says 2 "^datsim $command: $option wants .*, got '$value'\$" \
				"$command" "$option=$value" x || exit
			;;
		esac
	done
}

# The rows of the help without an operand; an option whose value the help forgets fails here too.
flags() {
	says 2 "^datsim: --help wants no value, got '3'\$" --help=3 &&
		says 2 "^datsim: --version wants no value, got '3'\$" --version=3 || return
	for command in $commands; do
		echo "$command --help"
		"$datsim" help "$command" | sed -nE "s/^  (--?[a-z-]+)(  .*)?\$/$command \1/p"
	done > flags
	grep -qx 'test --show' flags && grep -qx 'run --quiet' flags &&
		grep -qx 'sweep --persistent' flags || return
	while read -r command option; do
		says 2 "^datsim $command: $option wants no value, got '3'\$" \
			"$command" "$option=3" x &&
			says 2 "^datsim $command: $option wants no value, got ''\$" \
				"$command" "$option=" || return
	done < flags
}

nearest() {
	says 2 '^datsim run: unknown option --sed; did you mean --seed[?]$' run --sed 3 true &&
		says 2 '^datsim test: unknown option --tarce; did you mean --trace[?]$' test \
			--tarce=x y &&
		says 2 '^datsim explore: unknown option -seed; did you mean --seed[?]$' explore \
			-seed 3 x &&
		says 2 '^datsim test: unknown option --j; did you mean -j[?]$' test --j 3 x &&
		says 2 '^datsim info: unknown option --hlep; did you mean --help[?]$' info --hlep &&
		says 2 '^datsim: unknown command tset; did you mean test[?]$' tset x &&
		says 2 '^datsim: unknown command exlpore; did you mean explore[?]$' help exlpore &&
		says 2 '^datsim: unknown command nonesuch$' nonesuch &&
		says 2 '^there are help, test, show, run' help nonesuch &&
		says 2 '^datsim test: unknown option --prov; did you mean --provider[?]$' test \
			--prov hw x &&
		says 2 '^datsim fabric: unknown verb destory; did you mean destroy[?]$' fabric \
			destory x
}

written() {
	says 0 '^ok 1' test -j 2 --seed 3 good.dsim &&
		says 0 '^ok 1' test -j2 --seed=3 good.dsim &&
		says 0 '^ok 1' test --seed "$most" -- good.dsim &&
		says 0 '^ok 1' sweep --nth=alloc good.dsim &&
		says 0 '1 passed' conformance --junit=x.xml suite && test -s x.xml || return
	cp good.dsim ./-j
	says 0 '^ok 1 - -j$' test -- -j && says 2 '^# -: No such file' test -
}

values_kept() {
	says 0 '^1$' run --quiet --seed=1 printenv DATSIM_SEED &&
		says 0 "^$most\$" run --quiet --seed $most printenv DATSIM_SEED &&
		says 0 '^7$' run --quiet --seed 6 --seed 7 -- printenv DATSIM_SEED &&
		says 0 '^iwarp$' run --quiet --profile=iwarp printenv DATSIM_PROFILE &&
		says 0 '^--trace$' run --quiet -- echo --trace
}

operands() {
	says 2 'expected a script or a folder' test --seed 3 &&
		says 2 'expected one trace file' show a b && says 2 'expected one trace file' \
			replay &&
		says 2 'expected a program' run --seed 3 -- && says 2 'expected a program' run &&
		says 2 'expected one script, or -- PROGRAM' explore --seed 3 &&
		says 2 'expected one script, or -- PROGRAM' explore a b &&
		says 2 'found --out behind a: expected options before a script, and -- before' \
			explore a --out b &&
		says 2 'expected a script, or a folder' sweep --nth alloc &&
		says 2 'expected --nth with alloc, post or event' sweep good.dsim &&
		says 2 'expected one folder' conformance a b && says 2 "no arguments, got 'x'" \
			shell x &&
		says 2 "no arguments, got 'x'" info x && says 2 'expected create, list' fabric &&
		says 2 'create wants the name of one fabric' fabric create &&
		says 2 'list wants no name' fabric list x
}

# The help of a command names each of its options, whichever way it is asked for.
help() {
	for command in $commands; do
		"$datsim" help "$command" > help && "$datsim" "$command" --help > asked &&
			"$datsim" "$command" -h > short && cmp help asked && cmp help short &&
			grep -q "^datsim $command" help &&
			"$datsim" help | grep -q "^  datsim $command " ||
			return
	done
	with_values | while read -r command options; do
		"$datsim" help "$command" > help
		for option in $options; do
			grep -qE -e "^  $option( |\$)" help || exit
		done
	done
}

narrow() {
	for command in $commands ''; do
		# shellcheck disable=SC2086
		"$datsim" help $command | grep -E '.{101}' && return 1
	done
	return 0
}

# refuses OPTION WHOSE ARGS...: what that option would write is the file of something else
refuses() {
	option=$1
	whose=$2
	shift 2
	says 2 "^datsim $1: $option [^ ]+: expected a file of its own, found that of $whose: " "$@"
}

# No command writes over what it reads, under another name of the file neither.
spares_input() {
	cp good.dsim mine.dsim
	ln -sf mine.dsim link.dsim
	ln -f mine.dsim hard.dsim
	"$datsim" test --trace mine.trace mine.dsim
	cp mine.trace kept.trace
	cp /bin/true program
	refuses --trace "the script" test --trace mine.dsim mine.dsim &&
		refuses --trace "the script" test --trace ./hard.dsim mine.dsim &&
		refuses --junit "the script" test --junit link.dsim good.dsim mine.dsim &&
		refuses --junit "the script" conformance --junit suite/../suite/good.dsim suite &&
		refuses --svg "the trace" show --svg mine.trace mine.trace &&
		refuses --html "the trace" show --html ./mine.trace mine.trace &&
		refuses --pcapng "the trace" show --pcapng mine.trace mine.trace &&
		refuses --trace "the script" run --script mine.dsim --trace link.dsim -- true &&
		refuses --capture "the script" run --script mine.dsim --capture mine.dsim true &&
		refuses --trace "the program" run --trace program -- ./program &&
		refuses --capture "the program" run --capture program -- true + ./program &&
		refuses --out "the script" explore --out hard.dsim mine.dsim &&
		refuses --json "the program" explore --json program -- ./program &&
		refuses --out "the program" explore --out program -- true + ./program &&
		cmp good.dsim mine.dsim && cmp kept.trace mine.trace &&
		cmp program /bin/true
}

# Two outputs are two files, whether there are any yet or not. A pipe or a device may take both.
outputs_apart() {
	: > there
	for file in there absent; do
		refuses --junit --trace test --trace $file --junit $file good.dsim &&
			refuses --capture --trace run --trace $file --capture $file true &&
			refuses --html --svg show --svg $file --html $file mine.trace &&
			refuses --pcapng --svg show --svg $file --pcapng $file mine.trace &&
			refuses --json --out explore --out $file --json $file good.dsim || return
	done
	refuses --html --svg show --svg absent --html ./absent mine.trace &&
		refuses --html --svg show --svg suite/../absent --html absent mine.trace &&
		refuses --pcapng --svg show --svg "$PWD/absent" --pcapng absent mine.trace &&
		"$datsim" show --svg new --html suite/new mine.trace && rm new suite/new || return
	[ ! -s there ] && [ ! -e absent ] &&
		says 0 '^ok 1' test --trace /dev/null --junit /dev/null good.dsim
}

echo 1..14
holds "an option that does not exist is said to be unknown" unknown
holds "an option says which value it wants if there is none" missing
holds "every option that takes a value is among these" listed
holds "an option says which value it wants if it got another" bad
holds "a flag takes no value" flags
holds "a word that is nearly right is suggested" nearest
holds "values follow in the same word or the next, and -- ends the options" written
holds "values arrive as they were written, the last one counts" values_kept
holds "what is missing behind the options, or too much, is said" operands
holds "no command writes over its input" spares_input
holds "no output is written over another" outputs_apart
holds "help lists every option" help
holds "help fits 100 columns" narrow
holds "what a terminal would obey is not printed" sh -c '
	"$1" test "$(printf "%b" "--\033[31m")" 2> said
	grep -q "unknown option --?\[31m" said &&
		! LC_ALL=C grep -q "$(printf "\033")" said' - "$datsim"
