#!/bin/sh
# datsim conformance: the suite of this tree, and suites with errors.
. "$(dirname "$0")/begin.sh"
cd "$scratch" || exit 99
suite=$top_srcdir/tests/scripts

# conformance STATUS ARGS...: writes its output to the file table
conformance() {
	wanted=$1
	shift
	"$datsim" conformance "$@" > table 2> said < /dev/null
	status=$?
	cat said >> table
	[ $status -eq "$wanted" ] || {
		echo "exit status $status, expected $wanted"
		cat table
		false
	}
}

every_script_is_there() {
	(cd "$suite" && find . -name '*.dsim' | sed 's|^\./||') | sort > wanted
	grep -oE '[a-z]+/[a-z0-9-]+\.dsim' table | sort -u | diff wanted -
}

rows() {
	grep -cE '  (pass|FAIL|skipped)$' table
}

# clauses_counted: is the number of rows that of the last line?
clauses_counted() {
	[ "$(rows)" = "$(sed -n '$s/ clauses in .*//p' table)" ]
}

mkdir -p small/area none unnamed held
echo 'first' > small/area/not-a-script
cat > small/area/good.dsim << 'END'
# dat_pz_query: the zone knows its IA (G3a, G8)
# dat_pz_free: a clause of more words than there is room for in one line of the table, so that its
#   end stands below (and this is no ruling)
# Nothing more is said of a clause behind this.
# dat_pz_create: no clause
use adapter a@emu0
    a: dat_pz_query(pz) -> {ia_handle=ia}
end quiet
END
cp -r small broken
cat > broken/area/fails.dsim << 'END'
# every call: something that is not so
use adapter a@emu0
    a: dat_pz_query(pz) -> {ia_handle=pz}
END
echo 'use adapter a@emu0' > unnamed/x.dsim
cat > held/held.dsim << 'END'
# dat_ep_post_send: a message half way (Z3)
use connected a@emu0 b@emu1
    hold a>b
    release a>b
END
sed 's/hold a>b/fault link a>b count optional/; /release/d' held/held.dsim > held/fault.dsim
sed 's/hold a>b/link a>b latency=1us/; /release/d' held/held.dsim > held/link.dsim
sed '/hold/d
s/release.*/a: dat_ep_disconnect(ep)\n+0us~+1ms b: event connect DISCONNECTED/' \
	held/held.dsim > held/time.dsim
printf '# dat_pz_free: x\nfabric latency=1us\nuse adapter a@emu0\n' > held/fabric.dsim

# Scripts that only the emulator can run are skipped with the reason, even if the backend is
# missing.
skips() {
	DAT_PROVIDER=hw "$datsim" test -j 2 held > table 2>/dev/null
	cat > wanted << 'END'
1..5
ok 1 - held/fabric.dsim # SKIP settings of the fabric: the emulator only
ok 2 - held/fault.dsim # SKIP packet faults: the emulator only
ok 3 - held/held.dsim # SKIP held messages: the emulator only
ok 4 - held/link.dsim # SKIP a simulated link: the emulator only
ok 5 - held/time.dsim # SKIP events at exact times: the emulator only
END
	diff wanted table
}

no_skip() {
	DAT_PROVIDER=hw "$datsim" test small/area/good.dsim 2>&1 | grep -q '^not ok 1'
}

small_table() {
	cat > wanted << END
call          clause\
                                                        ruling   script          result
dat_pz_free   a clause of more words than there is room for in one line of\
           area/good.dsim  pass
              the table, so that its end stands below (and this is no
              ruling)
dat_pz_query  the zone knows its IA\
                                         G3a, G8  area/good.dsim  pass

2 clauses in 1 scripts: 1 passed, 0 failed, 0 skipped
END
	diff wanted table
}

same_table() {
	mv table one
	conformance 0 -j 2 --junit suite.xml "$suite" && cmp one table
}

echo 1..18
holds "the suite passes" conformance 0 "$suite"
holds "every script is in the table" every_script_is_there
holds "there is a row for each clause" clauses_counted
holds "two scripts at a time print the same table" same_table
holds "the JUnit file has every script" \
	grep -q "tests=\"$(wc -l < wanted)\" failures=\"0\" errors=\"0\"" suite.xml
holds "a small suite" conformance 0 small
holds "its table: clauses, rulings, wrapped lines" small_table
holds "a failing script sets the exit status" conformance 1 broken
holds "the table shows the failure" grep -qE '^every call .* area/fails.dsim  FAIL$' table
holds "the failure is below the table" grep -q '^actual:   a: dat_pz_query(pz) -> {ia_handle=ia}' \
	table
holds "a script without a clause" conformance 2 unnamed
holds "the script is named" grep -q 'unnamed/x.dsim:1: expected' table
holds "a folder without scripts" conformance 2 none
holds "no such folder" conformance 2 nowhere
holds "a backend that this build does not have" conformance 2 --provider hw "$suite"
holds "scripts that need the emulator are skipped elsewhere, with the reason" skips
holds "other scripts are not skipped" no_skip
mkdir letters
printf '# dat_pz_query: the zone knows its IA (AX)\nuse adapter a@emu0\n' > letters/x.dsim
conformance 0 letters
holds "letters in parentheses are no ruling" grep -q 'the zone knows its IA (AX)' table
