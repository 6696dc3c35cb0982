#!/bin/sh
# datsim explore with a store, and datsim merge: each way to fail is kept once, whichever seeds,
# shards and workers find it; known ones are tried first; an interrupted run goes on; what is no
# store is refused. And the coverage and the JSON of both. RUNS: schedules of each campaign, at
# least 50: the first 40 are run apart from the rest.
. "$(dirname "$0")/begin.sh"
planted=$top/tests/planted
behaves=$top/tests/datsim/behaves
source=${top_srcdir:-$here/../..}
needs "$planted/credit"
needs "$behaves"
cd "$scratch" || exit 99
ulimit -c 0
runs=${RUNS:-100}
# Forks are slow under AddressSanitizer.
! nm "$planted/credit" | grep -q __asan_init || runs=${RUNS:-50}
cp "$source/tests/planted/event-order.dsim" "$source/tests/planted/clean.dsim" .

# same A B: equal failures, and nothing beside failures and positions
same() {
	(cd "$1" && cat -- *.dsim | grep -v '^# replay: ') > a &&
		(cd "$2" && cat -- *.dsim | grep -v '^# replay: ') > b && cmp a b &&
		(cd "$1" && ls -- *.dsim) > a && (cd "$2" && ls -- *.dsim) > b && cmp a b
}
# value FILE EXPRESSION: of the JSON in j
value() {
	python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' \
		"$1" "$2"
}
is() { [ "$(value "$1" "$2")" = "$3" ] || { value "$1" "$2" && false; }; }
only_files() { ! find "$1" -type f ! -name '*.dsim' ! -name '*.position' | grep .; }

echo 1..108

# ---- a program ----
cp "$planted/credit" credit
expect 1 "^credit: $runs schedules of seed 1, of which [0-9]+ fail, in [1-9] ways?, [1-9] of them" \
	explore --runs "$runs" --store one --json one.json -- ./credit
# replays FOLDER: the replay line of each of its failures fails
replays() {
	sed -n 's/^# replay: datsim //p' "$1"/*.dsim > lines
	while read -r line; do
		# shellcheck disable=SC2086
		"$datsim" $line < /dev/null
		[ $? = 1 ] || return 1
	done < lines
	[ -s lines ]
}
holds "the replay line of a failure fails" replays one
holds "nothing else is in the folder" only_files one
expect 1 "of which [0-9]+ fail, in [1-9] ways?, 0 of them new" explore --runs "$runs" --store one \
	-- ./credit
holds "known failures are tried first" grep -q '^credit: one/exit-.*.dsim still fails: exits' out
cp -R one seeds
for seed in 2 3; do
	"$datsim" explore --runs "$runs" --seed $seed --store seeds -- ./credit > "out.$seed"
done
bug() {
	[ "$(cd one && ls -- *.dsim)" = "$(cd seeds && ls -- *.dsim)" ] &&
		grep -q 'in 1 way, 0 of them new' out.2 && grep -q 'in 1 way, 0 of them new' out.3
}
holds "the same bug found by other seeds is the same failure" bug
expect 1 "of which [0-9]+ fail" explore -j 2 --runs "$runs" --store two -- ./credit
holds "two workers keep the same failures" same one two
for i in 1 2 3; do
	"$datsim" explore --runs "$runs" --store shared --shard $i/3 -- ./credit > "out.$i" 2>&1 &
done
wait
holds "shards may share the folder" eval \
	'only_files shared && [ "$(ls shared/*.position | wc -l)" = 3 ]'
expect 1 'credit: schedule [0-9]+ of seed 1 exits with 1.* shrunk' explore --runs "$runs" \
	--store few --failures 1 -- ./credit
holds "--failures ends it" eval '[ "$(ls few/*.dsim | wc -l)" = 1 ]'
cp "$planted/credit-fixed" credit
expect 0 '^credit: one/exit-.*.dsim no longer fails' explore --runs 5 --store one -- ./credit
holds "then all schedules hold" grep -q '^credit: 5 schedules of seed 1 hold' out
cp "$planted/credit" credit

# ---- JSON ----
holds "JSON: how many, how fast, how it ended" eval "is one.json 'j[\"schedules\"]' $runs &&
	is one.json 'j[\"rate\"] > 0 and j[\"seconds\"] > 0 and j[\"exit_status\"] == 1' True &&
	is one.json 'sum(f[\"count\"] for f in j[\"failures\"]) == j[\"failed\"] > 0' True"
holds "JSON: a failure has its file's lines" is one.json \
	'all(open(f["file"]).read().split("# ----\n")[1].split("\n")[:-1] == f["lines"]
		for f in j["failures"])' True
"$datsim" explore --runs 20 --json - -- "$planted/credit-fixed" > only.json 2> rest
holds "JSON on standard output is alone there" is only.json 'j["failed"], j["failures"]' '(0, [])'
holds "then the rest is on standard error" grep -q '20 schedules of seed 1 hold' rest
expect 1 'shrunk to' explore --runs "$runs" --json first.json --out first.dsim -- ./credit
holds "without a store it has the first failure" is first.json \
	'[f["lines"] for f in j["failures"]] == [open("first.dsim").read().split("\n")[:-1]]' True
# With a reason if nothing was explored.
reason() {
	rm -f none.json
	"$datsim" explore --runs 3 --json none.json "$@" > out 2>&1
	status=$?
	[ $status != 0 ] && is none.json 'j["exit_status"], len(j["failures"])' "($status, 0)" &&
		value none.json 'j["reason"]' > said
}
holds "JSON: a program that fails without a fault" eval 'reason -- sh -c "exit 3" &&
	grep -qx "sh exits with 3 without any fault: nothing was explored" said'
holds "JSON: one that opens no adapter" eval 'reason -- true &&
	grep -q "^true opened no simulated adapter: nothing was explored" said'
holds "JSON: one of several that does nothing" eval 'reason --lockstep -- "$behaves" well + true &&
	grep -q "^true opened no simulated adapter, or made no object on it" said'
holds "JSON: one that sends nothing" eval 'reason -- "$behaves" silent &&
	grep -q "sent no packet, so no fault could act in 3 schedules" said'
echo 'use adapter a@emu0' > adapter.dsim
holds "JSON: a script without packets, and one that is not there" eval 'reason adapter.dsim &&
	grep -q "no packet crosses a link" said && reason nonesuch.dsim &&
	grep -q "nonesuch.dsim: No such file" said'
holds "JSON: a store that cannot be used" eval 'reason --store out -- ./credit &&
	grep -q "^the store out cannot be used" said'
holds "JSON: no reason if it was explored" eval '! value one.json "j[\"reason\"]"'
expect 1 'cannot write /nowhere/x.json' explore --runs "$runs" --json /nowhere/x.json -- ./credit

# ---- coverage ----
expect 0 '^coverage of 50 schedules:' explore --runs 50 --faults all,break --coverage \
	--json c.json -- "$planted/flush-fixed"
holds "a table has what was reached" grep -qE '^    ep CONNECTED > DISCONNECTED +[0-9]+ +[0-9]' out
holds "and what was not" grep -qE '^    never reached: .*BIND' out
"$datsim" explore --runs 3 --store untold clean.dsim > out
uncovered='^coverage of 0 schedules: none has run with --coverage$'
expect 0 "$uncovered" explore --runs 3 --store untold --resume --coverage clean.dsim
holds "what was not looked at is not said to be missed" eval '! grep "never reached" out'
expect 0 "$uncovered" merge untold --coverage
causes() {
	sed -n 's/^\t\(ROW\|INVALID\)(\([A-Z_]*\),.*/\2/p' "$source/emu/wire/cause.c" |
		grep -v NONE | sort > a
	value c.json '"\n".join(sorted(j["coverage"]["cause"]))' > b
	[ -s a ] && cmp a b
}
holds "the JSON has every cause of the model" causes
holds "a schedule counts once" is c.json \
	'all(c["schedules"] <= min(50, c["times"]) for k in j["coverage"].values() if k != 50
		for c in k.values())' True
holds "the sum of faults is not zero" is c.json 'j["coverage"]["fault"]["drop"]["times"] > 0' True

# ---- interrupted ----
expect 1 "in [1-9] ways?" explore --runs 40 --store parts -- ./credit
expect 1 "^credit: $runs schedules of seed 1 \\(40 of them in earlier runs\\), of which" explore \
	--runs "$runs" --resume --store parts -- ./credit
holds "in two parts it finds the same" same one parts
counts() { grep -hE '^# (done|failed|count)' "$1"/*.position; }
cp "$planted/credit" credit
rm -rf one
"$datsim" explore --runs "$runs" --store one -- ./credit > out
holds "and counts the same" eval 'counts one > a; counts parts > b; cmp a b'
expect 1 "\\($runs of them in earlier runs\\)" explore --runs "$runs" --resume --store parts -- \
	./credit
# No schedule behind the last failure that --failures allows is taken for done: it may fail, too.
# steps FOLDER ARGS...: the campaign, one new failure at a time, until it is done
steps() {
	folder=$1
	shift
	for step in 1 2 3 4 5; do
		"$datsim" explore --store "$folder" --resume --failures 1 "$@" > "step.$step"
		grep '^# done' "$folder"/*.position
	done
}
counts_of() { grep -hE '^# (done|failed|count|covered.*)[: ]' "$1"/*.position | sort; }
expect 1 "in 4 ways" explore --runs 300 --faults all,break --coverage --store ways \
	event-order.dsim
holds "a script's campaign in steps" steps step-by-step -j 2 --runs 300 --faults all,break \
	--coverage event-order.dsim
holds "each step ends where it had to" grep -qE '^event-order.dsim: [1-9] schedules?' step.1
holds "the steps find the same" same ways step-by-step
holds "and count and cover the same" eval \
	'counts_of ways > a; counts_of step-by-step > b; cmp a b'
expect 1 "in 3 ways" explore --runs 50 --faults all,break --store ends -- "$planted/reset"
cp -R ways mixed
expect 1 "in 3 ways, 3 of them new" explore --runs 50 --faults all,break --store mixed -- \
	"$planted/reset"
steps one-each -j 5 --runs 50 --faults all,break -- "$planted/reset" > out
holds "a program's campaign, five at a time, does" same ends one-each

# Killed by a schedule, behind a failure that was kept: then it goes on there.
cat > dies.sh << 'END'
#!/bin/sh
"$behaves" well
[ "${DATSIM_LATENCY_NS:-0}" -lt 1000 ] || exit 3
[ -e store/failed ] || exit 0
rm store/failed
kill -KILL "$(cat pid)"
exec sleep 60
END
export behaves
mkdir store
killed() {
	# What it cannot remove goes with this test's folder.
	sh -c "echo \$\$ > pid
		TMPDIR=\$PWD
		export TMPDIR
		exec '$datsim' explore --runs 60 --hang 100 --store store -- sh dies.sh" > out 2>&1
	[ $? = 137 ]
}
cat > marks.sh << 'END'
# Once a failure is kept, the next schedule that passes kills explore.
until [ -n "$(ls store/*.position 2> /dev/null)" ]; do :; done
touch store/failed
END
sh marks.sh &
holds "explore is killed" killed
wait
holds "half a file is not left under the name of a failure" eval \
	'for f in store/*.dsim; do grep -q "^# ----$" "$f" || exit 1; done'
done_before=$(sed -n 's/^# done: //p' store/*.position)
expect 3 "60 schedules of seed 1 \\($done_before of them in earlier runs\\)" explore --runs 60 \
	--resume --store store -- sh dies.sh
holds "something had been done" [ "$done_before" -ge 1 ]
rm -f store/.new-*

# ---- merge ----
for i in 1 2 3; do
	"$datsim" explore --runs 50 --shard $i/3 --no-shrink --coverage --store "raw$i" -- \
		./credit > "out.$i"
	"$datsim" explore --runs 100 --shard $i/3 --no-shrink --store "sraw$i" event-order.dsim \
		> "out.$i"
done
expect 0 'not shrunk: give the program' merge --out all raw1 raw2 raw3
expect 0 'is shrunk: [0-9]+ lines?, exit-' merge all -- ./credit
expect 2 'expected folders' merge -- ./credit
expect 2 'unknown option --coverge; did you mean --coverage' merge all --coverge -- ./credit
expect 2 'datsim merge: true opened no simulated adapter' merge all -- true --coverage
cp -R all long
for entry in long/exit-*.dsim; do
	yes 'fault link emu0>emu1 drop nth=9 optional' | head -n 256 >> "$entry"
done
expect 1 'expected at most 256 faults' explore --runs "$runs" --store long -- ./credit
holds "a failure with too many rules does not count as one that fails again" \
	eval '! grep "still fails" out && grep "has no schedule for these programs" out'
expect 0 'all: [1-9] failures?, 0 of them new to it; 150 schedules of 3 shards' merge --coverage \
	--json all.json all
holds "nothing is left to shrink" is all.json 'all(f["shrunk"] for f in j["failures"])' True
holds "the counts are those of all shards" is all.json \
	'sum(f["count"] for f in j["failures"]) == j["failed"] > 0' True
holds "one shard that runs them all finds the same" eval \
	'ls all/*.dsim | sed "s|.*/||" > a; "$datsim" explore --runs 150 --store whole --coverage \
		--json whole.json -- ./credit > out; ls whole/*.dsim | sed "s|.*/||" > b; cmp a b'
holds "and covers the same" eval \
	'value whole.json "j[\"coverage\"]" > a; value all.json "j[\"coverage\"]" > b; cmp a b'
"$datsim" merge --out x raw1 raw2 raw3 > out
"$datsim" merge --out y raw3 raw1 > out
expect 0 '3 shards' merge --out y raw2 raw3 y
holds "the order of folders does not matter" same x y
expect 0 '1 failure, 1 of them new to it; 300 schedules of 3 shards' merge --out scripts sraw1 \
	sraw2 sraw3
holds "scripts are shrunk at once" eval \
	'grep -q "^# shrunk: yes" scripts/*.dsim && grep -q "is shrunk: [0-9]* lines" out'
expect 2 'expected a folder of failures, nowhere' merge x nowhere
expect 1 'fails, after [0-9]+ others; shrunk to' explore --runs 20 --faults all,break --store told \
	event-order.dsim
holds "the first one came after those that hold" grep -q 'fails, after [0-9]* that hold' out
"$datsim" explore --runs 20 --faults all,break --store "to be" --json be.json event-order.dsim > out
holds "the command that replays is quoted for a shell" eval \
	'value be.json "\"\\n\".join(f[\"replay\"] for f in j[\"failures\"])" > replay &&
		[ -s replay ] && PATH=$(dirname "$datsim"):$PATH sh replay > out
		grep -q "^not ok 1 - to be/fail-" out'
expect 1 'exits with 1, after [0-9]+ others; shrunk to' explore --runs 60 --faults all,break \
	--store told -- ./credit
"$datsim" explore --runs 100 --faults all,break --no-shrink --store wide event-order.dsim > out
holds "shrunk, several failures are one" eval \
	'"$datsim" merge --out narrow wide > out &&
		[ "$(ls narrow/*.dsim | wc -l)" -lt "$(ls wide/*.dsim | wc -l)" ] &&
		grep -qE "narrow: ([0-9]+) failures, \\1 of them new to it" out'

# ---- a script ----
expect 1 'event-order.dsim: 300 schedules of seed 1, of which [0-9]+ fail, in 1 way, 1 of them' \
	explore --runs 300 --store script event-order.dsim
holds "its replay line fails, too" replays script
expect 1 'dsim still fails: ' explore -j 3 --runs 300 --seed 2 --store script event-order.dsim
holds "the same bug is the same failure" eval '[ "$(ls script/*.dsim | wc -l)" = 1 ]'
expect 1 '\(300 of them in earlier runs\), of which [0-9]+ fail' explore -j 2 --runs 500 --resume \
	--store script event-order.dsim
"$datsim" explore --runs 500 --store script2 event-order.dsim > out
in_parts() {
	grep -h '^# count' script2/*.position > a
	grep -h '^# count' script/*.position > b
	[ -s a ] && grep -qxFf a b
}
holds "in two parts it counts the same" in_parts
expect 0 '^clean.dsim: 100 schedules of seed 1 hold' explore --coverage --runs 100 --store clean \
	clean.dsim
holds "its coverage is kept" grep -q '^# covered: completion 100 ' clean/*.position

explained() {
	"$datsim" explore --runs 50 --store why --json why.json event-order.dsim > out 2>&1
	sed -n 's/^# explained: //p' why/*.dsim > a
	grep -xFf a out > b
	grep -qE '^what it takes, by [0-9]+ more runs:$' a && cmp a b &&
		is why.json '"\n".join(j["failures"][0]["explained"])' "$(cat a)"
}
holds "what matters of it is printed, stored and in the JSON" explained

# ---- interrupted: a script ----
# Signals are held back once the folder is there.
interrupted() {
	rm -rf cut
	(exec env --default-signal=INT "$datsim" explore -j 2 --runs 1000000000 --store cut \
		--json cut.json event-order.dsim) > out 2>&1 &
	pid=$!
	until [ -d cut ]; do :; done
	kill -"$1" $pid
	wait $pid
	[ $? = "$2" ] && is cut.json 'j["interrupted"], j["exit_status"]' "(True, $2)" &&
		grep -qE '^event-order.dsim: [0-9]+ schedules of seed 1' out &&
		grep -qE 'asked to end: [0-9]+ schedules? ha(s|ve) ended' out &&
		grep -q 'go on from there: the same command with --resume' out
}
whole() {
	total=$(($(sed -n 's/^# done: //p' cut/*.position) + 100))
	"$datsim" explore --runs $total --resume --store cut event-order.dsim > out
	rm -rf script2
	"$datsim" explore --runs $total --store script2 event-order.dsim > out
	counts cut > a; counts script2 > b; cmp a b
}
holds "SIGTERM ends it, with a summary" interrupted TERM 143
holds "it goes on where it was" whole
holds "SIGINT ends it, with a summary" interrupted INT 130

# ---- a full disk ----
# full ARGS...: explore with a store on a disk without room
full() {
	mkdir -p full
	unshare -m sh -c 'mount -t tmpfs -o size=4k tmpfs full && echo x > full/x && exec "$@"' \
		sh "$datsim" explore --runs 100 --store full "$@" > out 2>&1
}
not_kept() {
	full event-order.dsim
	[ $? = 1 ] && grep -q 'cannot write full/fail-.*: No space left on device' out &&
		grep -qE '^event-order.dsim: 100 sch.*, of which [0-9]+ fail, in 1 way' out &&
		grep -q 'the folder is not whole: 1 could not be written' out &&
		[ "$(grep -c shrunk out)" = 1 ] && full -- ./credit
	[ $? = 1 ] && grep -qE '^credit: 100 schedules .*, of which [0-9]+ fail, in 1 way' out
}
no_position() {
	full clean.dsim
	[ $? = 2 ] && grep -q '^clean.dsim: 100 schedules of seed 1 hold' out && full -- \
		"$planted/credit-fixed"
	[ $? = 2 ] && grep -q 'cannot write full/shard-.*: No space left on device' out
}
mkdir full
if unshare -m mount -t tmpfs tmpfs full 2> /dev/null; then
	holds "a failure that cannot be kept is told once, and counted" not_kept
	holds "it is an error if the position cannot be kept" no_position
else
	for what in failure position; do
		n=$((n + 1))
		echo "ok $n - a $what on a full disk # SKIP no file system can be mounted"
	done
fi
expect 2 'expected a folder of failures, nonesuch: No such file' merge nonesuch
expect 2 'expected a folder of failures, clean.dsim: Not a directory' explore --store clean.dsim \
	clean.dsim
holds "no folder was made" [ ! -e nonesuch ]

# ---- several programs in lockstep ----
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
if [ -x "$planted/pairs/lodger" ]; then
	lodger() {
		"$datsim" "$@" -- --node server "$planted/pairs/lodger" serve + --node client \
			"$planted/pairs/lodger" 0 > out 2>&1
	}
	keeps() {
		lodger explore --lockstep --faults kill --runs 25 "$@"
		[ $? = 4 ] && grep -qE 'fails?, in 1 way' out &&
			[ "$(ls pair/*.dsim | wc -l)" = 1 ] &&
			grep -qx '# shape: kill client' pair/*.dsim &&
			grep -q '^# ending: is stuck; nothing can wake server; ' pair/*.dsim
	}
	holds "a pair: a kill is a kind of its own" keeps --store pair --no-shrink --shard 1/2
	holds "a pair: other schedules fail in the same way" keeps --store pair --shard 2/2
	mkdir raw
	sed 's/^# shrunk: yes/# shrunk: no/' pair/*.dsim \
		> "raw/$(cd pair && ls -- *.dsim)"
	holds "a pair: merge shrinks it" eval 'lodger merge --lockstep --out merged raw &&
		grep -q "is shrunk: 1 line, stuck-" out'
else
	for what in keep count merge; do
		n=$((n + 1))
		echo "ok $n - a pair: $what # SKIP tests/planted/pairs is not built"
	done
fi

# ---- hostile folders ----
# bad NAME PATTERN: with the file NAME from standard input, explore says so and runs nothing. Not at
# the end of a pipeline, which is a shell of its own and would count its tests there.
bad() {
	rm -rf bad
	mkdir bad
	cat > "bad/$1"
	expect 2 "$2" explore --runs 5 --store bad -- ./credit
}
good=$(ls one/*.dsim | head -n 1)
name=$(basename "$good")
echo nonsense > text
bad exit-1.dsim 'bad/exit-1.dsim:1: expected "# datsim failure 1", found "nonsense"' \
	< text
bad "$name" ':1: expected "# datsim failure 1", found ""' < /dev/null
head -n 6 "$good" > text
bad "$name" 'bad/exit-.*:7: expected "# version: ' < text
sed 's/^# shape: .*/# shape: other/' "$good" > text
bad "$name" 'expected the name exit-' < text
sed 's/^# shrunk: .*/# shrunk: \x1b[31m/' "$good" > text
bad "$name" ':8: expected "# shrunk: yes" or "no", found "# shrunk: .\[31m"' < text
sed 's|^# found: .*|# found: schedule 99999999999999999999999 of seed 1|' "$good" > text
bad "$name" ':6: expected "# found: schedule N of seed N"' < text
bad 'a b.dsim' 'cannot read bad/a b.dsim: no file of a store has such a name' < "$good"
printf 'a\0b' > text
bad "$name" 'expected text, found a zero byte' < text
rm -rf bad && mkdir bad && ln -s ../one/"$name" bad/"$name"
expect 2 'expected a file, found a symbolic link' merge bad
rm -rf bad && mkdir bad && mkfifo bad/"$name"
expect 2 'expected a regular file' merge bad
sed 's/^# done: .*/# done: many/' one/*.position | (rm -rf bad && mkdir bad &&
	cat > bad/"$(basename one/*.position)")
expect 2 'position:8: expected done, found "# done: many"' explore --runs 5 --resume --store bad \
	-- ./credit
expect 2 'cannot make the folder /dev/null/x' explore --runs 5 --store /dev/null/x -- ./credit
expect 2 'want --store' explore --resume -- ./credit
