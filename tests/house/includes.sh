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
	case $1 in
	host/* | lib/* | verbs/* | emu/* | fault/* | passthrough/*) ;;
	tools/* | tests/* | include/*) ;;
	*) false ;;
	esac
}

# What every front needs knows no front and no backend.
rule_host() {
	includes host | while read -r file line kind name; do
		case $kind$name in
		'"config.h') continue ;;
		'"'*) own "$file" "$name" host && continue ;;
		'<dat/'* | '<infiniband/'* | '<rdma/'*) ;;
		'<'*) private_in_brackets "$name" || continue ;;
		esac
		echo "$file:$line: $name"
	done
}

rule_lib() {
	includes lib | while read -r file line kind name; do
		case $kind$name in
		'<dat/'* | '"dat/'* | '"config.h') continue ;;
		'"host/'*) [ -f "$name" ] && continue ;;
		'"'*) own "$file" "$name" lib && continue ;;
		'<infiniband/'* | '<rdma/'*) ;;
		'<'*) private_in_brackets "$name" || continue ;;
		esac
		echo "$file:$line: $name"
	done
}

rule_front() {
	includes verbs | while read -r file line kind name; do
		case $kind$name in
		'"host/'*) [ -f "$name" ] && continue ;;
		'"'*) own "$file" "$name" verbs && continue ;;
		'<infiniband/verbs.h' | '<rdma/rdma_cma.h' | '<rdma/rdma_verbs.h') continue ;;
		'<rdma/rsocket.h') continue ;;
		'<dat/'* | '<infiniband/'* | '<rdma/'*) ;;
		'<'*) private_in_brackets "$name" || continue ;;
		esac
		echo "$file:$line: $name"
	done
}

rule_verbs() {
	includes include host lib emu fault tools examples | while read -r file line kind name; do
		case $name in infiniband/* | rdma/*) echo "$file:$line: $name" ;; esac
	done
}

rule_backend() {
	includes "$1" | while read -r file line kind name; do
		case $kind$name in
		'"host/nic.h' | '"host/nic_'*.h | '"host/random.h' | '"config.h') continue ;;
		'"'*) own "$file" "$name" "$1" && continue ;;
		'<dat/'*) ;;
		'<'*) private_in_brackets "$name" || continue ;;
		esac
		echo "$file:$line: $name"
	done
}
rule_emu() { rule_backend emu; }

# border ROOM OTHER: no file of the folder ROOM itself includes a header of the folder OTHER
border() {
	includes "$1" | while read -r file line kind name; do
		[ "${file%/*}" = "$1" ] || continue
		case /$name in */"${2##*/}"/*) echo "$file:$line: $name" ;; esac
	done
}

rule_fault() { rule_backend fault; }
rule_passthrough() { rule_backend passthrough; }

rule_public() {
	for room in tools/datsim examples; do
		includes "$room" | while read -r file line kind name; do
			case $kind$name in
			'<dat/'* | '"config.h') continue ;;
			'"host/random.h') [ "$room" = tools/datsim ] && continue ;;
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
	random='s?rand|s?random|[dlm]rand48|getrandom|getentropy'
	in_sources emu fault -- -E \
		"(^|[^A-Za-z0-9_])($random|gettimeofday|clock_gettime|time)\\("
}

rule_addresses() {
	{
		in_sources emu fault tools -- -E '"[^"]*%[-+ #0-9]*p'
		sources lib | grep trace | xargs -r grep -nHE '"[^"]*%[-+ #0-9]*p'
	}
}

# A program that has more rights than its caller must not believe the environment.
rule_environment() {
	in_sources include host lib verbs emu fault passthrough -- \
		-wE '(secure_|__secure_)?getenv|environ|__environ|_environ' |
		grep -v '^host/nic_process\.h:'
}

# A descriptor of libdat's is none of a standard stream's, even if that was closed.
rule_descriptors() {
	opens='open(at)?|creat|f(d?open|reopen)|(fd)?opendir|memfd_create|mkos?temps?'
	opens="$opens|tmpfile|dup[23]?"
	opens="$opens|socket(pair)?|accept4?|pipe2?|(event|signal|timer|userfault)fd(_create)?"
	opens="$opens|epoll_create1?|inotify_init1?|pidfd_(open|getfd)"
	syscalls='syscall\(SYS_(pidfd|memfd|open|socket|pipe|dup)'
	in_sources host lib verbs emu fault passthrough -- \
		-E "(^|[^A-Za-z0-9_>.])(($opens)\(|$syscalls)" |
		grep -vE '^host/nic_process\.h:|process_fd\(|:[[:space:]]*/?\*'
}

rule_open_ends() {
	find include host lib verbs emu fault passthrough tools tests bench examples -type f \
		\( -name '*.[chly]' -o -name '*.sh' -o -name '*.dsim' -o -name '*.am' \) \
		! -path tests/house/includes.sh 2> /dev/null | sort |
		xargs -r grep -nHwE 'TODO|FIXME|XXX|HACK'
}

# listed FOLDER PATTERN: names that a Makefile.inc.am in or below a folder lists, as paths
listed() {
	find "$1" -name Makefile.inc.am -exec grep -oHE "%D%/$2" {} + |
		sed 's,Makefile\.inc\.am:%D%/,,'
}

rule_listed() {
	for room in include host lib verbs emu fault passthrough tools/datsim; do
		listed "$room" '[^[:space:]]+' > "$work/known"
		sources "$room" | grep -vxF -f "$work/known"
	done
}

# A test is listed in its own folder; C tests as programs, without .c.
rule_tests_listed() {
	listed tests '[^/[:space:]]+' > "$work/known"
	find tests -name 'test_*.c' -o -name '*.sh' -o -name '*.dsim' | sed 's/\.c$//' | sort |
		grep -vxF -f "$work/known"
}

# Check's own macros write a message for each assertion that holds and are for one thread only.
rule_check() {
	includes tests | while read -r file line kind name; do
		[ "$kind$name" != '<check.h' ] || echo "$file:$line: $name"
	done | grep -v '^tests/support/asserts\.h:'
}

# A tree in which each rule is broken once, at least.
mkdir -p "$plant/host" "$plant/lib" "$plant/verbs" "$plant/emu" "$plant/fault" \
	"$plant/passthrough" "$plant/tools/datsim" \
	"$plant/examples" "$plant/include/dat" "$plant/tests/ep"
: > "$plant/lib/ep.h"
: > "$plant/host/nic.h"
: > "$plant/emu/fabric.h"
echo '#include "emu/fabric/fabric.h"' > "$plant/lib/bad.c"
echo '#include "lib/ep.h"' > "$plant/host/bad.c"
echo '#include "ep.h"' > "$plant/emu/bad.c"
for room in emu emu/wire emu/fabric emu/number emu/hostile; do
	mkdir -p "$plant/$room"
	printf '#include "%s"\n' emu/shared/shared.h emu/lockstep/lockstep.h \
		> "$plant/$room/bad_border.c"
done
echo '# include <dat/udat.h>' > "$plant/fault/bad.c"
echo '#include <infiniband/verbs.h>' > "$plant/lib/verbs.c"
echo '#include "lib/ep.h"' > "$plant/verbs/bad.c"
echo '#include "emu/fabric/fabric.h"' > "$plant/passthrough/bad.c"
echo '#include "host/nic.h"' > "$plant/tools/datsim/bad.c"
echo '#include "host/nic.h"' > "$plant/include/dat/bad.h"
echo '	x = time(NULL);' > "$plant/emu/clock.c"
echo '	printf("%-12p", x);' > "$plant/emu/address.c"
echo '	x = getenv("DATSIM_X");' > "$plant/passthrough/environment.c"
echo '	fd = open(path, O_RDONLY);' > "$plant/emu/descriptor.c"
echo '/* XXX later */' > "$plant/examples/bad.c"
echo 'sh_tests += %D%/states.sh' > "$plant/tests/ep/Makefile.inc.am"
echo 'check_programs += %D%/ep/test_states' > "$plant/tests/Makefile.inc.am"
echo '#include <check.h>' > "$plant/tests/ep/test_states.c"

# rule FUNCTION ARGUMENT... TITLE
rule() {
	for title; do :; done
	found=$(cd "$top_srcdir" && "$@")
	caught=$(cd "$plant" && "$@")
	verdict "$title"
}

echo 1..27
rule rule_host "host/ includes its own headers only"
rule rule_lib "lib/ includes include/dat, host/ and lib/ only"
rule rule_front "verbs/ includes the headers of its APIs, host/ and its own headers only"
rule rule_verbs "only passthrough/ and verbs/ include headers of verbs"
rule rule_emu "emu/ includes host/nic*.h and its own headers only"
# The NIC in one process knows of several processes only by the hooks of emu/fabric/sharing.h.
for room in emu emu/wire emu/fabric emu/number emu/hostile; do
	for other in emu/shared emu/lockstep; do
		rule border $room $other "$room/ itself includes nothing of $other/"
	done
done
rule rule_fault "fault/ includes host/nic*.h and its own headers only"
rule rule_passthrough "passthrough/ includes host/nic*.h and its own headers only"
rule rule_public "tools/datsim and examples use the public headers and their own only"
rule rule_headers "public headers include public headers and the system's only"
rule rule_clocks "no wall clock and no foreign entropy in emu/ and fault/"
rule rule_addresses "no address is printed where a trace could show it"
rule rule_environment "libraries read the environment by host/nic_process.h only"
rule rule_descriptors "libraries open descriptors by host/nic_process.h only"
rule rule_open_ends "nothing is left open in the sources (TODO and its kin)"
rule rule_listed "every source file is named in its folder's Makefile.inc.am"
rule rule_tests_listed "every test is named in the Makefile.inc.am of its folder"
rule rule_check "tests have Check's assertions from tests/support/asserts.h"
