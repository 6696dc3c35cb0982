#!/bin/sh
# The script language reaches all of uDAPL 1.2: every public call is made by a script of
# tests/scripts, with a success, with an error, and with each return code that
# tests/conformance/codes.tsv has for it; and every member of the structures that calls take and
# give has its name. What cannot be is in a table with its reason. Each rule is a function that
# prints offenders; it passes if it prints nothing for the tree, and something for a copy of the
# tree into which a mistake was put.
tree=$top_srcdir
. "$(dirname "$0")/begin.sh"

# call	"success", "error" or a code	why no script shows it; the sweeps in C do
cat > "$work/impossible" << 'END'
dat_registry_list_providers	DAT_INTERNAL_ERROR	the tool sets the environment
dat_registry_add_provider	DAT_INSUFFICIENT_RESOURCES	no memory for an entry
dat_registry_remove_provider	DAT_PROVIDER_IN_USE	the tool's provider opens nothing
dat_cno_wait	DAT_INTERRUPTED_CALL	a script gets no signals
dat_evd_wait	DAT_INTERRUPTED_CALL	a script gets no signals
dat_evd_wait	DAT_ABORT	a script is one thread
dat_evd_dequeue	DAT_INVALID_STATE	a script is one thread
dat_ep_dup_connect	DAT_INSUFFICIENT_RESOURCES	no memory for the connection
END

# call	success, or the type of the error: of every call of every script
made() {
	find "$tree/tests/scripts" -name '*.dsim' -exec cat {} + | sed -nE '
		s/[[:blank:]]#.*//
		s/.*[[:alnum:]_]+:[[:blank:]]*(dat_[a-z0-9_]+)\(/\1 /
		t call
		b
		:call
		s/^([a-z0-9_]+) .*\)( x[0-9]+)* = (DAT_[A-Z_]+).*/\1	\3/
		t print
		s/ .*/	DAT_SUCCESS/
		:print
		p' | sort -u
}

calls() {
	sed -n '/^DAT_1.2/,/^};/s/^[[:space:]]*\(dat_[a-z0-9_]*\);$/\1/p' "$tree/lib/libdat.map"
	echo dat_ia_open # a macro
}

excused() {
	awk -F '\t' -v call="$1" -v what="$2" '$1 == call && $2 == what && $3' "$work/impossible" |
		grep -q .
}

rule_success() {
	made > "$work/made"
	calls | while read -r call; do
		grep -qx "$call	DAT_SUCCESS" "$work/made" || excused "$call" success ||
			echo "$call: no script makes it succeed"
	done
}

rule_error() {
	made > "$work/made"
	calls | while read -r call; do
		grep "^$call	" "$work/made" | grep -qv 'DAT_SUCCESS$' || excused "$call" error ||
			echo "$call: no script makes it fail"
	done
}

rule_codes() {
	made > "$work/made"
	awk -F '\t' '
		FILENAME ~ /made$/ { made[$1, $2] = 1; next }
		FILENAME ~ /impossible$/ { if ($3) made[$1, $2] = 1; next }
		!/^#/ && $5 == "-" && !made[$1, $2] {
			print $1 ": no script ends in " $2 ": " $4
		}' \
		"$work/made" "$work/impossible" "$tree/tests/conformance/codes.tsv"
}

# A row of the table whose reason is gone would hide something.
rule_no_idle_excuse() {
	made > "$work/made"
	awk -F '\t' '
		NR == FNR {
			seen[$1, $2 == "DAT_SUCCESS" ? "success" : "error"] = seen[$1, $2] = 1
			next
		}
		seen[$1, $2] { print $1 ": a script shows its " $2 }' \
		"$work/made" "$work/impossible"
}

# Members that are structures themselves have theirs named; an event is matched by its short names.
rule_members() {
	awk -F '\t' '
		$1 ~ /^DAT_(IA|PROVIDER|EP|SRQ)_ATTR$|^DAT_[A-Z]+_PARAM$|^DAT_PROVIDER_INFO$/ &&
		$2 != "*" && $2 !~ /\./ { print $1, $2 }' "$tree/tests/headers/layout.tsv" |
		while read -r type member; do
			case $member in ep_attr | lmr_triplet | region_desc) continue ;; esac
			grep -qw "$member" "$tree/tools/datsim/script/layouts.c" ||
				echo "$type.$member has no name"
		done
	for part in lmr_context virtual_address segment_length for_va for_lmr_handle; do
		grep -qw "$part" "$tree/tools/datsim/script/layouts.c" || echo "$part has no name"
	done
}

# rule FUNCTION FILE SED-SCRIPT TITLE: the script puts a mistake into a copy of FILE
rule() {
	found=$($1)
	rm -rf "$work/planted"
	mkdir -p "$work/planted/tests" "$work/planted/lib" "$work/planted/tools/datsim/script"
	cp -r "$top_srcdir/tests/scripts" "$top_srcdir/tests/headers" \
		"$top_srcdir/tests/conformance" "$work/planted/tests"
	cp "$top_srcdir/lib/libdat.map" "$work/planted/lib"
	cp "$top_srcdir/tools/datsim/script/layouts.c" "$work/planted/tools/datsim/script"
	cp "$work/impossible" "$work/kept"
	chmod -R u+w "$work/planted"
	case $2 in
	impossible) echo "$3" >> "$work/impossible" ;;
	*) sed "$3" "$top_srcdir/$2" > "$work/planted/$2" ;;
	esac
	caught=$(
		tree=$work/planted
		$1
	)
	cp "$work/kept" "$work/impossible"
	verdict "$4"
}

echo 1..5
rule rule_success lib/libdat.map 's/^	dat_strerror;/&\n	dat_strerrors;/' \
	"every call succeeds in a script"
rule rule_error tests/scripts/helper/strerror.dsim 's/ = DAT_INVALID_PARAMETER//' \
	"every call fails in a script"
rule rule_codes tests/scripts/rdma/read.dsim 's/ = DAT_LENGTH_ERROR//' \
	"every return code of every call is shown by a script"
rule rule_no_idle_excuse impossible "dat_strerror	error	a reason" \
	"what is excused is not shown"
rule rule_members tools/datsim/script/layouts.c 's/supports_multipath/x/' \
	"every member of a structure has its name"
