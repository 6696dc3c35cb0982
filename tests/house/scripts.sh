#!/bin/sh
# The scripts of tests/scripts, which are the conformance suite: each begins with the call and the
# clause that it shows. Each rule is a function that prints offenders under $scripts; it passes if
# it prints nothing for the tree, and something for a copy of it into which a mistake was put.
scripts=$top_srcdir/tests/scripts
. "$(dirname "$0")/begin.sh"

files() {
	find "$scripts" -name '*.dsim' | sort
}

# FILE: TEXT, a clause a line
clauses() {
	files | xargs awk -v scripts="$scripts/" '
		function say() {
			if (text)
				print file ": " text
			text = ""
		}
		FNR == 1 {
			say()
			file = substr(FILENAME, length(scripts) + 1)
			over = 0
		}
		over { next }
		/^#   / && text { text = text " " substr($0, 5); next }
		{ say() }
		/^# (dat_[a-z0-9_]*|every call): / { text = substr($0, 3); next }
		{ over = 1 }
		END { say() }'
}

rule_form() {
	files | xargs awk -v scripts="$scripts/" '
		FNR == 1 && !/^# (dat_[a-z0-9_]+|every call): [^ ]/ {
			print substr(FILENAME, length(scripts) + 1) \
				":1: expected # CALL: CLAUSE (RULINGS)"
		}'
}

rule_calls() {
	sed -n 's/^[[:space:]]*\(dat_[a-z0-9_]*\);$/\1/p' "$top_srcdir/lib/libdat.map" \
		> "$work/calls"
	clauses | sed -n 's/^\([^:]*: \)\(dat_[a-z0-9_]*\):.*/\2 \1/p' | while read -r call file; do
		grep -qx "$call" "$work/calls" || echo "$file there is no call $call"
	done
}

rule_rulings() {
	sed -n 's/^- \*\*\([A-Z][0-9]*a\{0,1\}\)\*\*.*/\1/p' "$top_srcdir/doc/rulings.md" \
		> "$work/rulings"
	clauses | sed -n 's/^\([^:]*\): .*(\([A-Z][0-9][A-Za-z0-9, ]*\))$/\1 \2/p' | tr -d , |
		while read -r file names; do
			for name in $names; do
				grep -qx "$name" "$work/rulings" ||
					echo "$file: there is no ruling $name"
			done
		done
}

# The same clause is not said of two scripts: one of them shows something else.
rule_once() {
	clauses | sed 's/^[^:]*: //' | sort | uniq -d
}

# The calls around SRQ, EP, EVD and connections.
calls_wanted() {
	sed -n 's/^[[:space:]]*\(dat_\(srq\|ep\|evd\|cr\|psp\|rsp\|cno\)_[a-z0-9_]*\);$/\1/p' \
		"$top_srcdir/lib/libdat.map"
}
rule_all_calls() {
	clauses | sed -n 's/^[^:]*: \(dat_[a-z0-9_]*\):.*/\1/p' | sort -u > "$work/shown"
	calls_wanted | grep -vxF -f "$work/shown"
}

# Each clause of the five pages on SRQs and watermarks has a script.
pages_wanted='^(dat_srq_set_lw|dat_ep_set_watermark|dat_srq_resize|dat_srq_query|dat_ep_modify)$'
rule_all_clauses() {
	awk -F '\t' -v wanted="$pages_wanted" '
		$2 ~ wanted && $5 !~ /^none: / { print $1, $5 }' \
		"$top_srcdir/tests/conformance/clauses.tsv" |
		while read -r id tests; do
			[ "$id" = RS11 ] && continue # want of memory: tests/sweep
			for test in $tests; do
				case $test in *.dsim) [ -f "$scripts/$test" ] && continue 2 ;; esac
			done
			echo "$id: no script shows it"
		done
}

# rule FUNCTION FILE SED-SCRIPT TITLE: the script puts a mistake into a copy of FILE, or removes it
rule() {
	found=$($1)
	rm -rf "$work/planted"
	cp -r "$scripts" "$work/planted"
	chmod -R u+w "$work/planted"
	case $3 in
	remove) rm "$work/planted/$2" ;;
	*) sed "$3" "$scripts/$2" > "$work/planted/$2" ;;
	esac
	caught=$(
		scripts=$work/planted
		$1
	)
	verdict "$4"
}

echo 1..6
rule rule_form srq/resize.dsim 's/^# dat_srq_resize: /# resizing: /' \
	"every script says which clause it shows"
rule rule_calls srq/resize.dsim 's/^# dat_srq_resize/# dat_srq_resizes/' "the calls exist"
rule rule_rulings srq/resize.dsim '1s/(Z3)/(Z9)/' "the rulings exist"
rule rule_once srq/resize.dsim '1s/.*/# dat_ep_connect: no answer in time is TIMED_OUT (E4)/' \
	"no clause is said twice"
rule rule_all_calls connect/reject.dsim 's/^# dat_cr_reject/# dat_cr_query/' \
	"every call around SRQ, EP, EVD, CNO and connections is shown"
rule rule_all_clauses srq/counts-known.dsim remove "every clause of the five pages has a script"
