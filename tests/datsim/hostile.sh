#!/bin/sh
# datsim in bad conditions: missing files, folders and pipes in place of files, binary and huge
# files, outputs that cannot be written, closed or full streams, limited terminals.
. "$(dirname "$0")/begin.sh"
user=$top/examples/srq_server
needs "$user"
cd "$scratch" || exit 99
unset NO_COLOR COLUMNS

cat > good.dsim << 'END'
use connected a@emu0 b@emu1
       b: dat_ep_post_recv(ep, 64)
       a: dat_ep_post_send(ep, 64)
*      b: event recv DTO_COMPLETION length=64
end
END
"$datsim" test --trace good.trace good.dsim > /dev/null
mkdir folder suite
{ head -n 1 "$here/../scripts/watermark/low-watermark.dsim" && cat good.dsim; } > suite/good.dsim
: > empty
tail -c +5 "$datsim" | head -c 300000 > binary # no ELF file, which explore would name
cp binary binary.dsim
truncate -s 400M huge.dsim
printf 'use connected a@emu0 b@emu1\n a: \033[31mred\302\233\377\n' > colours.dsim

# says STATUS PATTERN COMMAND...: exits with STATUS and prints PATTERN, within 20 seconds
says() {
	wanted=$1
	pattern=$2
	shift 2
	timeout 20 "$@" > out 2>&1 < /dev/null
	got=$?
	head -c 2000 out
	echo "exit status $got, wanted $wanted"
	[ "$got" -eq "$wanted" ] && grep -aqE -e "$pattern" out
}

# inputs COMMAND...: appends to the command a missing, a binary and a huge file, one after the other
inputs() {
	says 2 "^(# )?nonesuch: No such file|no folder nonesuch" "$@" nonesuch &&
		says 2 "^(# )?binary:1:|^(# )?binary: not|no folder binary" "$@" binary &&
		says 2 "^(# )?huge.dsim: expected at most|no folder huge" "$@" huge.dsim
}

total=54
echo 1..$total
for command in test explore show "show --svg x" "show --html x" "show --pcapng x" replay \
	conformance; do
	# shellcheck disable=SC2086
	holds "datsim $command: missing, binary and huge files" inputs "$datsim" $command
done
holds "nothing was written" test ! -e x
for command in explore show "show --svg x" "show --html x" "show --pcapng x" replay; do
	# shellcheck disable=SC2086
	holds "datsim $command: a folder" says 2 '^folder: not a regular file' "$datsim" $command \
		folder
done
mkfifo pipe
holds "a pipe without a writer" says 2 'pipe: not a regular file' "$datsim" show pipe
holds "datsim run: no such program" says 127 'nonesuch: No such file' "$datsim" run nonesuch
holds "datsim run: no such script" says 2 'nonesuch: No such file' "$datsim" run --script nonesuch \
	true
holds "terminal escapes in a script are not printed" sh -c '
	"$1" test colours.dsim > seen; LC_ALL=C grep -q "?\[31mred???" seen &&
	! LC_ALL=C grep -q "$(printf "[\033\233]")" seen' - "$datsim"

# ---- outputs ----

for file in /nowhere/x folder; do
	holds "test --trace $file" says 2 "cannot write $file: " "$datsim" test --trace $file \
		good.dsim
	holds "test --junit $file" says 2 "cannot write $file: " "$datsim" test --junit $file \
		good.dsim
	holds "show --svg $file" says 2 "cannot write $file: " "$datsim" show --svg $file good.trace
	holds "show --html $file" says 2 "cannot write $file: " "$datsim" show --html $file \
		good.trace
	holds "run --trace $file" says 2 "cannot write $file: " "$datsim" run --trace $file "$user"
	holds "conformance --junit $file" says 2 "cannot write $file: " \
		"$datsim" conformance --junit $file suite
done
holds "a full disk is reported" says 2 'cannot write /dev/full: No space' \
	"$datsim" show --pcapng /dev/full good.trace
holds "for an HTML page too" says 2 'cannot write /dev/full: No space' \
	"$datsim" show --html /dev/full good.trace
# Of a trace that is cut off, or binary from a line on, a whole page with the rows before that
rows() { grep -c '<tr data-l' "$1"; }
cut_page() {
	says 0 "^$1.trace: note: the trace is cut off within a line" \
		"$datsim" show --html "$1.html" "$1.trace" &&
		grep -q '^</script></body></html>$' "$1.html" &&
		[ "$(rows "$1.html")" -gt 2 ] && [ "$(rows "$1.html")" -lt "$(rows good.html)" ]
}
cut_pages() {
	"$datsim" show --html good.html good.trace || return
	sed '/ reap /q' good.trace | head -c -9 > torn.trace
	{ cat torn.trace && head -c 100000 binary; } > mixed.trace
	cut_page torn && cut_page mixed
}
holds "a page of a trace that is cut off, or binary from a line on" cut_pages
echo old > target
ln -s target link
holds "a program's trace is written through a symbolic link" sh -c '
	"$1" run --quiet --trace link "$2" > /dev/null && test -L link &&
	grep -q "^# end lines" target' \
	- "$datsim" "$user"

# full COMMAND...: with standard output on a full disk
full() {
	timeout 20 "$@" > /dev/full 2> err < /dev/null
	got=$?
	cat err
	[ $got -eq 2 ] && grep -q 'cannot write to standard output' err
}
all_full() {
	full "$datsim" test good.dsim && full "$datsim" show good.trace && full "$datsim" info &&
		full "$datsim" --help && full "$datsim" --version && full "$datsim" shell --help &&
		full "$datsim" conformance suite && full "$datsim" test --show good.dsim
}
holds "output to a full disk is an error" all_full

# With closed streams.
closed() {
	"$datsim" info >&- 2> err
	[ $? -eq 2 ] && grep -q 'cannot write to standard output' err || return
	"$datsim" show --svg x.svg good.trace >&- 2>&- <&- && xmllint --noout x.svg || return
	"$datsim" test --trace x.trace good.dsim >&- 2> /dev/null
	"$datsim" show x.trace > /dev/null
}
holds "output to a closed stream does not go to a file" closed
piped() {
	{
		timeout 20 "$datsim" show --all good.trace
		echo $? > status
	} 2> err | head -n 1 > /dev/null
	cat err status
	[ ! -s err ] && grep -qx '0\|141' status
}
holds "a reader that closes its pipe is no error" piped

# ---- the folder for temporary files ----

long=$scratch/$(printf '%030d' 0 | tr 0 a)
mkdir "$long"
holds "a long TMPDIR" says 0 'virtual time|  time' env TMPDIR="$long" "$datsim" run "$user"
holds "nothing is left in TMPDIR" rmdir "$long"
for command in "run $user" "replay good.trace" "explore --runs 1 -- $user"; do
	# shellcheck disable=SC2086
	holds "no TMPDIR: $(echo "$command" | cut -d' ' -f1)" \
		says 99 'cannot make a folder in /nowhere .TMPDIR.: No such file' \
		env TMPDIR=/nowhere "$datsim" $command
done
mv good.dsim gone.dsim
holds "a replay reports a missing script" says 2 '# good.dsim: No such file' "$datsim" replay \
	good.trace
mv gone.dsim good.dsim

# ---- long input, signals ----

# Whether a line of it runs depends on the build: the last one does.
{ cat binary && printf '\nuse adapter a@emu0\n'; } > typed.binary
holds "the shell survives binary input" sh -c 'timeout 20 "$1" shell < typed.binary > out 2>&1' - \
	"$datsim"
# The longest script that there may be, and no longer
{ echo 'use adapter a@emu0' && yes "# a$(printf '%500s' comment)"; } 2> noise |
	head -c 4194304 > longest.dsim
holds "a script of 4 MiB is read" says 0 '^ok 1 - longest.dsim' "$datsim" test longest.dsim

# Asked to end, test and sweep say so: who reads TAP would otherwise count tests that are missing.
bails() {
	rm -f fifo && mkfifo fifo
	# shellcheck disable=SC2046 # words
	(exec env --default-signal=INT "$datsim" "$@" $(yes good.dsim | head -n 3000) > fifo 2>&1) &
	pid=$!
	{ read -r plan && kill -INT $pid && cat; } < fifo > rest
	wait $pid
	[ $? = 130 ] && [ "$plan" = 1..3000 ] &&
		tail -n 1 rest | grep 'Bail out! it was asked to end'
}
holds "test that is asked to end says so" bails test
holds "and so does sweep" bails sweep --nth post

# ---- terminals ----

if ! command -v script > /dev/null; then
	while [ $n -lt $total ]; do
		n=$((n + 1))
		echo "ok $n # SKIP script(1) is not installed"
	done
	exit 0
fi
terminal() {
	# shellcheck disable=SC2086
	env $1 script -qec "$2" /dev/null < /dev/null > seen 2>&1
}
coloured() {
	grep -q "$(printf '\033\\[')" seen
}
holds "colour on a terminal that has it" sh -c "
	TERM=xterm script -qec '$datsim show good.trace' /dev/null < /dev/null |
	grep -q '$(printf '\033\\[')'"
plain() {
	for with in "TERM=dumb PAGER=" "TERM=xterm NO_COLOR=1 PAGER=" "-u TERM PAGER="; do
		terminal "$with" "$datsim show good.trace"
		if coloured; then
			cat seen
			return 1
		fi
		grep -q 'SEND #1' seen || return
	done
}
holds "no colour on other terminals, or with NO_COLOR" plain
typed() {
	printf 'use connected a@emu0 b@emu1\nb: dat_ep_post_recv(ep, 64)\nquit\n' |
		env -u HOME TERM=dumb timeout 20 script -qec "$datsim shell" /dev/null > seen 2>&1
	cat seen
	grep -q '= DAT_SUCCESS' seen
}
holds "the shell without HOME, on a dumb terminal" typed
paged() {
	terminal "TERM=xterm PAGER=nl" "$datsim show $1 good.trace" || return
	cat seen
	grep -q '	.*SEND #1' seen
}
holds "a timeline on a terminal goes through the pager" paged
unpaged() { ! paged --no-pager; }
holds "not with --no-pager" unpaged
# Ctrl-C is for all processes on the terminal.
cat > pager << 'END'
#!/bin/sh
trap '' INT
read -r titles
kill -INT 0
cat
echo it ends
END
chmod +x pager
interrupted() {
	terminal "--default-signal=INT TERM=xterm PAGER=./pager" \
		"stty -echo; exec $datsim show good.trace"
	status=$?
	cat seen
	[ $status -eq 0 ] && grep -q 'SEND #1' seen && grep -q 'it ends' seen
}
holds "Ctrl-C does not end the tool before its pager" interrupted
