#!/bin/sh
# The rules of the house, by grep. Each rule is a function that prints offending lines under a root;
# a rule passes if it prints nothing for the tree, and something for a small tree made of offences.
. "$(dirname "$0")/begin.sh"
plant=$work

# Sources of the named folders, as grep wants them.
sources() {
	for dir; do
		[ -d "$dir" ] && find "$dir" -name '*.[chly]'
	done | sort
}

# in_sources FOLDER... -- GREP-ARGS...: file:line:text
in_sources() {
	folders=
	while [ "$1" != -- ]; do
		folders="$folders $1"
		shift
	done
	shift
	# shellcheck disable=SC2086
	sources $folders | xargs -r grep -nH "$@"
}

# Every include of the named folders: FILE LINE KIND NAME, KIND is < or "
includes() {
	in_sources "$@" -- -E '^[[:space:]]*#[[:space:]]*include' |
		sed -nE 's/^([^:]*):([0-9]*):[^<"]*([<"])([^>"]*).*/\1 \2 \3 \4/p'
}

# own FILE NAME ROOM: is NAME a header of ROOM, as FILE includes it?
own() {
	case $2 in *../*) return 1 ;; esac
	[ -f "${1%/*}/$2" ] && return
	[ -f "$3/$2" ] && return
	case $2 in "$3"/*) [ -f "$2" ] ;; *) false ;; esac
}

# Angle brackets around a header of this tree that is not public.
private_in_brackets() {
	case $1 in lib/* | emu/* | fault/* | passthrough/* | tools/* | tests/* | include/*) ;; *) false ;; esac
}

rule_lib() {
	includes lib | while read -r file line kind name; do
		case $kind$name in
		'<dat/'* | '"dat/'* | '"config.h') continue ;;
		'"'*) own "$file" "$name" lib && continue ;;
		'<infiniband/'* | '<rdma/'*) [ "$file" = lib/nic_quick.h ] && continue ;;
		'<'*) private_in_brackets "$name" || continue ;;
		esac
		echo "$file:$line: $name"
	done
}

rule_backend() {
	includes "$1" | while read -r file line kind name; do
		case $kind$name in
		'"nic.h' | '"lib/nic.h' | '"nic_'*.h | '"lib/nic_'*.h | '"config.h') continue ;;
		'"'*) own "$file" "$name" "$1" && continue ;;
		'<dat/'*) ;;
		'<'*) private_in_brackets "$name" || continue ;;
		esac
		echo "$file:$line: $name"
	done
}
rule_emu() { rule_backend emu; }
rule_fault() { rule_backend fault; }
rule_passthrough() { rule_backend passthrough; }

rule_public() {
	for room in tools/datsim examples; do
		includes "$room" | while read -r file line kind name; do
			case $kind$name in
			'<dat/'* | '"config.h') continue ;;
			'"'*) own "$file" "$name" "$room" && continue ;;
			'<'*) private_in_brackets "$name" || continue ;;
			esac
			echo "$file:$line: $name"
		done
	done
}

rule_headers() {
	includes include | while read -r file line kind name; do
		case $kind$name in
		'<dat/'*) continue ;;
		'<'*) private_in_brackets "$name" || continue ;;
		esac
		echo "$file:$line: $name"
	done
}

rule_clocks() {
	in_sources emu fault -- -E \
		'(^|[^A-Za-z0-9_])(s?rand|s?random|[dlm]rand48|getrandom|getentropy|gettimeofday|clock_gettime|time)\('
}

rule_addresses() {
	{
		in_sources emu fault tools -- -E '"[^"]*%[-+ #0-9]*p'
		sources lib | grep trace | xargs -r grep -nHE '"[^"]*%[-+ #0-9]*p'
	}
}

rule_open_ends() {
	find include lib emu fault passthrough tools tests bench examples -type f \
		\( -name '*.[chly]' -o -name '*.sh' -o -name '*.dsim' -o -name '*.am' \) \
		! -path tests/house/includes.sh 2> /dev/null | sort |
		xargs -r grep -nHwE 'TODO|FIXME|XXX|HACK'
}

rule_listed() {
	for room in include lib emu fault passthrough tools/datsim; do
		sources "$room" | while read -r file; do
			grep -qE "%D%/${file#"$room"/}([[:space:]]|\$)" "$room/Makefile.inc.am" 2> /dev/null ||
				echo "$file"
		done
	done
}

# C tests are listed as programs, without .c.
rule_tests_listed() {
	find tests -name 'test_*.c' -o -name '*.sh' -o -name '*.dsim' | sort | while read -r file; do
		name=${file#tests/}
		grep -qE "%D%/${name%.c}([[:space:]]|\$)" tests/Makefile.inc.am || echo "$file"
	done
}

# A tree in which each rule is broken once, at least.
mkdir -p "$plant/lib" "$plant/emu" "$plant/fault" "$plant/passthrough" "$plant/tools/datsim" \
	"$plant/examples" "$plant/include/dat" "$plant/tests/ep"
: > "$plant/lib/ep.h"
: > "$plant/lib/nic.h"
: > "$plant/emu/fabric.h"
echo '#include "emu/fabric.h"' > "$plant/lib/bad.c"
echo '#include "ep.h"' > "$plant/emu/bad.c"
echo '# include <dat/udat.h>' > "$plant/fault/bad.c"
echo '#include "emu/fabric.h"' > "$plant/passthrough/bad.c"
echo '#include "lib/nic.h"' > "$plant/tools/datsim/bad.c"
echo '#include "lib/nic.h"' > "$plant/include/dat/bad.h"
echo '	x = time(NULL);' > "$plant/emu/clock.c"
echo '	printf("%-12p", x);' > "$plant/emu/address.c"
echo '/* XXX later */' > "$plant/examples/bad.c"
echo 'sh_tests = %D%/ep/states.sh' > "$plant/tests/Makefile.inc.am"
: > "$plant/tests/ep/test_states.c"

rule() {
	found=$(cd "$top_srcdir" && "$1")
	caught=$(cd "$plant" && "$1")
	verdict "$2"
}

echo 1..11
rule rule_lib "lib/ includes include/dat and lib/ only"
rule rule_emu "emu/ includes lib/nic*.h and its own headers only"
rule rule_fault "fault/ includes lib/nic*.h and its own headers only"
rule rule_passthrough "passthrough/ includes lib/nic*.h and its own headers only"
rule rule_public "tools/datsim and examples use the public headers and their own only"
rule rule_headers "public headers include public headers and the system's only"
rule rule_clocks "no wall clock and no foreign entropy in emu/ and fault/"
rule rule_addresses "no address is printed where a trace could show it"
rule rule_open_ends "nothing is left open in the sources (TODO and its kin)"
rule rule_listed "every source file is named in its folder's Makefile.inc.am"
rule rule_tests_listed "every test is named in tests/Makefile.inc.am"
