#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause The manual pages in doc/man say what the headers say. Each
# rule is a function that prints offenders for the pages in $pages; it passes if it prints nothing
# for ours, and something for a copy of them into which a mistake was put.
pages=$top_srcdir/doc/man
map=$top_srcdir/lib/libdat.map
. "$(dirname "$0")/begin.sh"

# ---- what the sources say ----

strip_comments() {
	awk '{
		while (1) {
			if (inside) {
				if ((i = index($0, "*/")) == 0) next
				$0 = substr($0, i + 2); inside = 0
			}
			if ((i = index($0, "/*")) == 0) break
			rest = substr($0, i + 2)
			if ((j = index(rest, "*/")) == 0) {
				$0 = substr($0, 1, i - 1)
				inside = 1
				break
			}
			$0 = substr($0, 1, i - 1) " " substr(rest, j + 2)
		}
		if ($0 !~ /^#/) print
	}' "$@"
}

# Prototypes, one a line, with blanks only where they are needed.
normal() {
	sed 's/^ *//; s/[[:space:]]\{1,\}/ /g; s/ *\([(),*]\) */\1/g; s/ *$//'
}

header_prototypes() {
	strip_comments "$headers"/*.h | tr '\n' ' ' | tr ';' '\n' |
		sed -n 's/.*\(DAT_RETURN dat_[a-z0-9_]*(.*)\) *$/\1/p' | normal | sort
}

exported_names() {
	sed -n 's/^[[:space:]]*\(dat_[a-z0-9_]*\);$/\1/p' "$map" | sort
}

# ---- what the pages say ----

real_pages() {
	for ending in ${1:-1 3 5 7}; do
		grep -L '^\.so ' "$pages"/*."$ending"
	done
}

# The lines of one section, without font changes.
section() {
	awk -v wanted="$1" '/^\.SH / { on = (substr($0, 5) == wanted); next } on' "$2" |
		sed 's/\\f[BIRP]//g; s/\\-/-/g'
}

# One program reads all pages: they are a hundred files.

# page_names [ENDING]: PAGE NAME, for each name under NAME
page_names() {
	# shellcheck disable=SC2046,SC2086
	awk '
		FNR == 1 { page = FILENAME; sub(/.*\//, "", page); line = 0 }
		/^\.SH / { line = (substr($0, 5) == "NAME"); next }
		line && line++ == 1 {
			gsub(/\\f[BIRP]/, ""); gsub(/\\-/, "-")
			if (!sub(/ - .*/, ""))
				next
			gsub(/ /, "")
			n = split($0, name, ",")
			for (i = 1; i <= n; i++)
				print page, name[i]
		}' $(real_pages $1)
}

# PAGE PROTOTYPE: lines of .BI under SYNOPSIS, put together as the formatter would
page_prototypes() {
	# shellcheck disable=SC2046
	awk '
		FNR == 1 { page = FILENAME; sub(/.*\//, "", page); line = "" }
		/^\.SH / { on = (substr($0, 5) == "SYNOPSIS"); next }
		!on || !sub(/^\.BI +/, "") { next }
		{
			text = $0
			gsub(/\\f[BIRP]/, "", text); gsub(/\\-/, "-", text)
			while (text != "") {
				sub(/^ +/, "", text)
				if (text ~ /^"/) {
					text = substr(text, 2); i = index(text, "\"")
					line = line substr(text, 1, i - 1)
					text = substr(text, i + 1)
				} else {
					i = index(text, " "); if (!i) i = length(text) + 1
					line = line substr(text, 1, i - 1); text = substr(text, i)
				}
			}
			if (line !~ /\)$/ && line !~ /;$/)
				next
			sub(/;$/, "", line)
			if (line ~ /^ *DAT_RETURN/)
				print page, line
			line = ""
		}' $(real_pages 3) | normal
}

# PAGE TYPE SUBTYPE... of each entry under ERRORS
page_errors() {
	# shellcheck disable=SC2046
	awk '
		FNR == 1 { page = FILENAME; sub(/.*\//, "", page) }
		/^\.SH / { on = (substr($0, 5) == "ERRORS"); next }
		on && /^\.TP/ {
			getline
			gsub(/\\f[BIRP]|,/, "")
			print page, $0
		}' $(real_pages 3)
}

# ---- rules ----

sections="NAME SYNOPSIS DESCRIPTION RETURN_VALUE ERRORS ON_HARDWARE STANDARD_AND_RULINGS SEE_ALSO"
rule_sections() {
	# shellcheck disable=SC2046
	awk -v sections="$sections" '
		FNR == 1 { page = FILENAME; sub(/.*\//, "", page); pages[page] }
		/^\.SH / { title = substr($0, 5); gsub(/ /, "_", title); has[page, title] }
		END {
			n = split(sections, wanted, " ")
			delete pages["libdat.3"]; delete pages["dat_event.3"]
			for (page in pages)
				for (i = 1; i <= n; i++)
					if (!((page, wanted[i]) in has))
						print page ": no section " wanted[i]
		}' $(real_pages 3)
}

rule_every_call() {
	for name in $(exported_names); do
		[ -f "$pages/$name.3" ] ||
			echo "$name: exported, and doc/man has no $name.3" \
				"(its own, or .so man3/PAGE.3)"
	done
}

# Pages of things that are no exported functions: overviews, a structure, a macro, what providers
# export.
rule_no_other() {
	exported_names > "$work/known"
	printf '%s\n' libdat dat_event dat_sim dat_ia_open dat_provider_init dat_provider_fini \
		>> "$work/known"
	for page in "$pages"/*.3; do
		name=${page##*/}
		echo "${name%.3}"
	done | grep -vxF -f "$work/known" | sed 's/$/.3: there is no such call/'
}

# A page is named for what it describes; a link leads to a page that describes it.
rule_names() {
	names=" $(page_names | tr ' \n' '/ ')"
	for page in "$pages"/*.[1357]; do
		name=${page##*/}
		read -r to < "$page"
		case $to in
		.so\ man[135]/*) to=${to#.so man?/} ;;
		*) to=$name ;;
		esac
		[ -f "$pages/$to" ] || {
			echo "$name: leads to $to, which is not there"
			continue
		}
		case $names in
		*" $to/${name%.*} "*) ;;
		*) echo "$name: $to does not have it under NAME" ;;
		esac
	done
}

rule_prototypes() {
	header_prototypes > "$work/header"
	page_prototypes > "$work/page"
	page_names 3 | awk -v header="$work/header" -v page="$work/page" '
		BEGIN {
			while ((getline line < header) > 0) {
				name = line; sub(/^DAT_RETURN /, "", name); sub(/\(.*/, "", name)
				is[line]; of[name] = line
			}
			while ((getline line < page) > 0) {
				has[line]; i = index(line, " "); text = substr(line, i + 1)
				if (!(text in is))
					print substr(line, 1, i - 1) ": the headers have no: " text
			}
		}
		$2 in of && !(($1 " " of[$2]) in has) { print $1 ": not as in the headers: " $2 }'
}

# PAGE WORD: what looks like PATTERN in the pages, headings apart
words() {
	# shellcheck disable=SC2046
	awk -v pattern="$1" '
		FNR == 1 { page = FILENAME; sub(/.*\//, "", page) }
		/^\.TH/ { next }
		{
			gsub(/\\f[BIRP]|\\[&%]/, ""); sub(/^\.BR +/, ""); gsub(/ \(/, "(")
			while (match($0, pattern)) {
				before = RSTART > 1 ? substr($0, RSTART - 1, 1) : ""
				if (before !~ /[A-Za-z0-9_.\/]/)
					print page, substr($0, RSTART, RLENGTH)
				$0 = substr($0, RSTART + RLENGTH)
			}
		}' $(real_pages) | sort -u
}

# Constants, and the variables of the environment.
rule_constants() {
	{
		cat "$headers"/*.h
		grep -rhoE '"(DATSIM|DAT)_[A-Z_]+"' "$top_srcdir/lib" "$top_srcdir/tools"
	} | grep -oE '\<(DAT|DATSIM)_[A-Za-z0-9_]+' | sort -u > "$work/known"
	words '(DAT|DATSIM)_[A-Za-z0-9_]+' | awk -v known="$work/known" '
		BEGIN { while ((getline word < known) > 0) { is[word] = 1; all = all " " word } }
		$2 in is { next }
		$2 ~ /_xxx$/ && index(all, " " substr($2, 1, length($2) - 3)) { next }
		{ print $1 ": there is no " $2 }'
}

# The types under ERRORS are those that the comments of the headers list.
rule_errors() {
	{
		header_errors | sed 's/^/header /'
		return_types | sed 's/^/type /'
		page_names 3 | grep -vE '^(libdat|dat_event|dat_sim|dat_provider_init)[.]3 ' |
			sed 's/^/name /'
		page_errors | sed 's/^/page /'
	} | awk '
		$1 == "header" { of[$2] = of[$2] " " $3 }
		$1 == "type" { is[$2] }
		$1 == "name" {
			called[$2]; n = split(of[$3], type, " ")
			for (i = 1; i <= n; i++) wanted[$2 " " type[i]]
		}
		$1 == "page" && $2 in called {
			for (i = 3; i <= NF; i++)
				if ($i in is) has[$2 " " $i]
		}
		END {
			for (error in wanted)
				if (!(error in has)) print error ": only the header has it"
			for (error in has)
				if (!(error in wanted)) print error ": only the page has it"
		}'
}

# What tests/sweep provokes, row by row, is on the pages, type and subtype.
rule_provoked() {
	{
		page_names 3 | sed 's/^/name /'
		page_errors | sed 's/^/page /'
	} | awk '
		$1 == "name" { of[$2] = of[$2] " " $3 }
		$1 == "page" {
			n = split(of[$2], call, " ")
			for (i = 1; i <= n; i++) print call[i], $3, (NF > 3 ? $4 : "-")
		}' > "$work/codes"
	cat "$top_srcdir"/tests/sweep/*.c | tr '\n\t' '  ' |
		grep -oE 'ROW(_ARG|_ANY)?\(dat_[^)]*\)' |
		tr '(,)' '   ' | awk -v codes="$work/codes" '
			BEGIN { while ((getline line < codes) > 0) is[line] = 1 }
			$1 == "ROW_ARG" {
				type = "DAT_INVALID_PARAMETER"
				subtype = "DAT_INVALID_ARG" $3
			}
			$1 == "ROW" { type = "DAT_" $3; subtype = "DAT_" $4 }
			$1 == "ROW_ANY" || type == "DAT_SUCCESS" { next }
			($2 " " type " " subtype) in is || ($2 " " type " -") in is { next }
			{ print $2 ": the page lacks " type ", " subtype }' | sort -u
}

# SEE ALSO, and pages named elsewhere. Other people's pages are those of the system.
rule_references() {
	words '(dat|libdat)[a-z_.0-9]*[(][135][)]' | while read -r page name; do
		name=${name%)}
		[ -f "$pages/${name%(*}.${name#*(}" ] || echo "$page: there is no $name)"
	done
}

rule_rulings() {
	sed -n 's/^- \*\*\([A-Z][0-9]*a\{0,1\}\)\*\*.*/\1/p' "$top_srcdir/doc/rulings.md" |
		sort > "$work/rulings"
	words '[A-Z][0-9]+a?' | awk -v rulings="$work/rulings" '
		BEGIN { while ((getline name < rulings) > 0) is[name] = 1 }
		$2 !~ /^(U[0-9]|ARG)/ && !($2 in is) { print $1 ": there is no ruling " $2 }'
	grep -rhoE '\<[Rr]ulings? [A-Z][0-9]+a?\>' \
		"$headers" "$top_srcdir/lib" "$top_srcdir/tests" | sed 's/.* //' | sort -u |
		comm -23 - "$work/rulings" | sed 's/^/cited in the sources, and not there: ruling /'
}

# The names of tests cite rulings: E4_M2_what_happens.
rule_test_names() {
	grep -rhoE --include='*.c' 'START_TEST\(\w+' "$tests" | sed 's/[(_]/&_/g' |
		grep -oE '_[A-Z][0-9]{1,2}a?_' | tr -d _ | sort -u | comm -23 - "$work/rulings" |
		sed 's/^/cited in the name of a test, and not there: ruling /'
}

rule_listed() {
	sed -n 's,.*%D%/\([^[:space:]]*\).*,\1,p' "$top_srcdir/doc/man/Makefile.inc.am" \
		> "$work/known"
	(cd "$pages" && printf '%s\n' *.[1357]) | grep -vxF -f "$work/known"
}

# What datsim prints as help, of all its commands
datsim_help() {
	"$top_builddir/tools/datsim/datsim" help > "$work/commands"
	cat "$work/commands"
	for word in $(sed -n 's/^  datsim \([a-z]*\) .*/\1/p' "$work/commands" | grep -vx help); do
		"$top_builddir/tools/datsim/datsim" help "$word"
	done
}

# Each option has an entry under OPTIONS.
rule_options() {
	section OPTIONS "$pages/datsim.1" | awk '/^\.TP/ { getline; print }' |
		grep -oE -- '--?[a-z][a-z0-9-]*' > "$work/entries"
	datsim_help | grep -oE -- '^ *--?[a-z][a-z0-9-]*' | tr -d ' ' | sort -u |
		grep -vxF -f "$work/entries" | sed 's/^/datsim.1: no entry of /'
}

# What datsim prints as help names no option and no command that its page lacks, and the other way.
rule_datsim() {
	datsim_help > "$work/said"
	{
		grep -oE -- '(^|[ [])--?[a-z][a-z0-9-]*' "$work/said" | tr -d ' ['
		sed -n 's/^ *datsim \([a-z]*\).*/\1/p' "$work/said"
	} | sort -u > "$work/help"
	sed 's/\\f[BIRP]/ /g; s/\\-/-/g' "$pages/datsim.1" > "$work/text"
	grep -oE -- '(^|[ [])--?[a-z][a-z0-9-]*' "$work/text" | tr -d ' [' | sort -u > "$work/page"
	grep -v '^-' "$work/help" | while read -r word; do
		grep -qw -e "$word" "$work/text" || echo "datsim.1: nothing about $word"
	done
	grep '^-' "$work/help" | comm -23 - "$work/page" | sed 's/^/datsim.1: nothing about /'
	comm -13 "$work/help" "$work/page" | sed 's/^/datsim.1: the tool has no /'
}

# dat_event(3): each event and each status with its number, none missing, no other.
header_events() {
	strip_comments "$headers/dat.h" | awk '
		/^typedef enum dat_(event_number|dto_completion_status) / { on = 1 }
		/^}/ { on = 0 }
		on && /=/ { gsub(/[=,]/, " "); print $1, $2 }'
	sed -nE 's/^#define (DAT_ASYNC_\w+)\s+\(\(DAT_EVENT_NUMBER\)(\w+)\)/\1 \2/p' \
		"$headers/udat_vendor_specific.h"
}
page_events() {
	grep -oE '\\fBDAT_[A-Z_]+\\fP \([0-9a-fx]+\)' "$pages/dat_event.3" |
		sed 's/\\f[BP]//g; s/[()]//g'
}
decimal() {
	while read -r name number; do
		echo "$name $((number))"
	done | sort
}
rule_event_numbers() {
	header_events | decimal > "$work/wanted"
	page_events | decimal > "$work/page"
	comm -23 "$work/wanted" "$work/page" | sed 's/^/dat_event.3: only the headers have /'
	comm -13 "$work/wanted" "$work/page" | sed 's/^/dat_event.3: only the page has /'
}

# dat_event(3): the members of DAT_EVENT with their types, and behind each "The member is" those of
# that member of the union, a handle's union included.
header_members() {
	strip_comments "$headers/dat.h" | awk '
		/^typedef / { members = "" }
		/;[ \t]*$/ && !/^}/ { sub(/;/, "", $2); members = members $1 " " $2 "\n" }
		/^} / { sub(/;/, "", $2); of[$2] = members; members = "" }
		function expand(name, type,	line, word, i, n) {
			n = split(of[type], line, "\n")
			for (i = 1; i < n; i++) {
				split(line[i], word, " ")
				print name, word[2]
				expand(name, word[1])
			}
		}
		END {
			n = split(of["DAT_EVENT"], line, "\n")
			for (i = 1; i < n; i++)
				print "DAT_EVENT", line[i]
			n = split(of["DAT_EVENT_DATA"], line, "\n")
			for (i = 1; i < n; i++) {
				split(line[i], word, " ")
				expand(word[2], word[1])
			}
		}' | sort
}
page_members() {
	{
		section SYNOPSIS "$pages/dat_event.3" |
			sed -nE 's/^\.B " +(\w+ \w+);"/DAT_EVENT \1/p'
		awk '
			/^The member is/ { on = 1; member = "" }
			on {
				line = $0
				while (match(line, /\\fI[a-z_]+/)) {
					word = substr(line, RSTART + 3, RLENGTH - 3)
					line = substr(line, RSTART + RLENGTH)
					if (member == "")
						member = word
					else
						print member, word
				}
			}
			/\.$/ { on = 0 }' "$pages/dat_event.3"
	} | sort
}
rule_event_members() {
	header_members > "$work/wanted"
	page_members > "$work/page"
	comm -23 "$work/wanted" "$work/page" | sed 's/^/dat_event.3: only the headers have /'
	comm -13 "$work/wanted" "$work/page" | sed 's/^/dat_event.3: only the page has /'
}

# Blocks of .EX, one a file: NAME.N.c, or NAME.N.dsim; others have no ending and are not looked at.
extract() {
	for page in $(real_pages); do
		awk -v base="$1/${page##*/}" '
			/^\.EX/ { n++; on = 1; file = ""; next }
			/^\.EE/ { on = 0 }
			!on { next }
			{
				gsub(/\\&/, ""); gsub(/\\-/, "-")
				gsub(/\\\(aq/, "\047"); gsub(/\\\(ga/, "`")
				gsub(/\\\(ti/, "~"); gsub(/\\\(ha/, "^"); gsub(/\\e/, "\\")
			}
			file == "" {
				file = base "." n
				if ($0 ~ /^#include/)
					file = file ".c"
				else if ($0 ~ /^fabric/)
					file = file ".dsim"
			}
			{ print > file }' "$page"
	done
}

rule_examples() {
	rm -rf "$work/examples"
	mkdir "$work/examples"
	extract "$work/examples"
	for file in "$work/examples"/*.c; do
		${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -I"$top_srcdir/include" \
			-S "$file" -o /dev/null > "$work/said" 2>&1 && continue
		echo "${file##*/}:"
		head -3 "$work/said"
	done
	for page in dat_srq_set_lw dat_srq_resize dat_srq_query dat_ep_set_watermark \
		dat_ep_modify libdat; do
		[ -f "$work/examples/$page.3.1.c" ] || echo "$page.3 has no example"
	done
}

# ---- each rule for our pages, and for a copy with a mistake ----

plan=20
echo "1..$plan"

# rule FUNCTION FILE SED-SCRIPT TITLE; the script puts a mistake into a copy of FILE, or removes it.
# A rule that looks at each page by itself is tried on the copy alone.
rule() {
	found=$($1)
	rm -rf "$work/planted"
	mkdir "$work/planted"
	case $1 in
	rule_sections | rule_prototypes | rule_errors) ;;
	*) cp "$pages"/*.[1357] "$work/planted" ;;
	esac
	case $3 in
	remove) rm "$work/planted/$2" ;;
	add) echo '.SH NAME' > "$work/planted/$2" ;;
	*) sed "$3" "$pages/$2" > "$work/planted/$2" ;;
	esac
	caught=$(
		pages=$work/planted
		$1
	)
	verdict "$4"
}

rule rule_sections dat_pz_free.3 's/^\.SH ON HARDWARE/.SH ON METAL/' \
	"every page has the sections of a page"
rule rule_every_call dat_pz_free.3 remove "every exported call has a page"
rule rule_no_other dat_pz_freeze.3 add "every page belongs to a call"
rule rule_names dat_evd_disable.3 's/enable/create/' \
	"pages are named for what they describe, links lead there"
rule rule_prototypes dat_srq_set_lw.3 's/DAT_COUNT/DAT_VLEN/' "prototypes are those of the headers"
rule rule_constants dat_srq_set_lw.3 's/DAT_SRQ_LW_DEFAULT/DAT_SRQ_LW_NONE/' "every constant exists"
rule rule_errors dat_srq_free.3 's/^\\fBDAT_INVALID_STATE\\fP,/\\fBDAT_ABORT\\fP,/' \
	"errors are those that the headers list"
rule rule_provoked dat_srq_free.3 's/DAT_INVALID_STATE_SRQ_IN_USE/DAT_INVALID_STATE_SRQ_ERROR/' \
	"every code that tests/sweep provokes is on the page, with its subtype"
rule rule_references dat_srq_free.3 's/^\.BR dat_srq_create /.BR dat_srq_make /' \
	"every page referred to exists"
rule rule_rulings dat_srq_free.3 's/uling Q5/uling Q55/' "every ruling cited is in doc/rulings.md"
mkdir "$work/named"
echo 'START_TEST(E4_Q55_what_happens)' > "$work/named/test_it.c"
found=$(tests=$top_srcdir/tests && rule_test_names)
caught=$(tests=$work/named && rule_test_names)
verdict "every ruling that a test is named for is in doc/rulings.md"
rule rule_listed dat_pz_freeze.3 add "every page is named in doc/man/Makefile.inc.am"
rule rule_datsim datsim.1 's/trace/trance/g' \
	"datsim(1) names the commands and options that the tool has"
rule rule_options datsim.1 '/^\\fB\\-\\-lockstep\\fP$/s/lockstep/quiet/' \
	"datsim(1) has an entry of each option"
rule rule_event_numbers dat_event.3 's/(0x4006)/(0x4016)/' \
	"dat_event(3) has the numbers of the headers"
rule rule_event_members dat_event.3 's/fIconn_qual/fIconn_qualifier/' \
	"dat_event(3) has the members of the headers"
rule rule_examples dat_srq_set_lw.3 's/^ *int i;/int j;/' "every example compiles without a warning"

# ---- what needs the library, the tool or a formatter ----

# result TITLE STATUS: the output of what was tried is in $work/said
result() {
	n=$((n + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		sed 's/^/#   /' "$work/said"
	fi
}
skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

title="the program in libdat(3) runs"
lib=$top_builddir/.libs
if [ ! -e "$lib/libdat.so" ] ||
	${NM:-nm} -D "$lib/libdat.so" | grep -qE '__(asan|tsan|ubsan|gcov)_'; then
	skip "$title" "no plain shared library in this build"
else
	{
		${CC:-cc} -std=gnu11 -I"$top_srcdir/include" "$work/examples/libdat.3.1.c" \
			-o "$work/program" -L"$lib" -ldat &&
			[ "$(LD_LIBRARY_PATH=$lib "$work/program")" = "hello over there" ]
	} > "$work/said" 2>&1
	result "$title" $?
fi

"$top_builddir/tools/datsim/datsim" test "$work/examples/datsim.1.1.dsim" > "$work/said" 2>&1
result "the script in datsim(1) passes" $?

title="the formatter has nothing to say about any page"
if command -v mandoc > /dev/null; then
	# shellcheck disable=SC2046
	mandoc -T lint -W warning $(real_pages) > "$work/said" 2>&1
	result "$title (mandoc)" $?
elif command -v groff > /dev/null; then
	# shellcheck disable=SC2046
	groff -man -ww -Tascii -z $(real_pages) > "$work/said" 2>&1
	result "$title (groff)" "$([ -s "$work/said" ] && echo 1 || echo 0)"
else
	skip "$title" "neither mandoc nor groff is installed"
fi
