#!/bin/sh
# How many files of a room call each other in a circle. A change to one file of a circle can reach
# every other one, so the largest circle is what has to be read as one piece. A direct call counts
# (a PLT32 relocation in an object of this build), a call through a table does not. TAP.
build=${top_builddir:-.}
. "$(dirname "$0")/begin.sh"

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}

# objects ROOM: NAME OBJECT, for each source that the room's Makefile.inc.am names
objects() {
	sed -nE 's/^[[:space:]]*%D%\/([a-z0-9_/-]+)\.c([[:space:]].*)?$/\1/p' \
		"$top_srcdir/$1/Makefile.inc.am" |
		while read -r name; do
			folder=$1/$name
			for object in "$build/${folder%/*}/.libs/"*_la-"${name##*/}.o"; do
				[ -f "$object" ] && echo "$name $object"
			done
		done
}

# edges ROOM: FROM TO, when a function of the file FROM calls one of the file TO
edges() {
	objects "$1" > "$work/objects"
	cut -d ' ' -f 2 "$work/objects" > "$work/paths"
	{
		xargs nm -A < "$work/paths" |
			awk '$(NF - 1) ~ /^[TW]$/ { sub(/:[^:]*$/, "", $1); print "has", $1, $NF }'
		xargs objdump -r < "$work/paths" | awk '
			/: +file format / { object = $1; sub(/:$/, "", object) }
			$2 == "R_X86_64_PLT32" {
				sub(/[-+]0x[0-9a-f]+$/, "", $3)
				sub(/\.(part|cold|constprop|isra)\..*|\.cold$/, "", $3)
				print "calls", object, $3
			}'
	} | awk '
		NR == FNR { name[$2] = $1; next }
		$1 == "has" { owner[$3] = name[$2] }
		$1 == "calls" && ($3 in owner) && owner[$3] != name[$2] {
			print name[$2], owner[$3]
		}' "$work/objects" - | sort -u
}

# largest: of the edges on standard input, the files of the largest circle
largest() {
	awk '
		# walk: marks in `reach` every file that can be reached from this one
		function walk(from,    waiting, n, to, i, at) {
			waiting[n = 1] = from
			while (n > 0) {
				at = waiting[n--]
				for (i = 1; i <= calls[at]; i++) {
					to = called[at, i]
					if (!((from, to) in reach)) {
						reach[from, to] = 1
						waiting[++n] = to
					}
				}
			}
		}
		{
			node[$1] = node[$2] = 1
			called[$1, ++calls[$1]] = $2
		}
		END {
			for (i in node)
				walk(i)
			for (i in node) {
				n = 0
				for (j in node)
					n += (i, j) in reach && (j, i) in reach
				if (n > most) {
					most = n
					of = i
				}
			}
			for (j in node)
				if ((of, j) in reach && (j, of) in reach)
					print j
		}' | sort
}

# over LIMIT: the files of the largest circle on standard input, if there are more
over() {
	largest > "$work/circle"
	[ "$(wc -l < "$work/circle")" -le "$1" ] ||
		echo "$(wc -l < "$work/circle"), not $1 at most: $(tr '\n' ' ' < "$work/circle")"
}

# Every file calls the next one: what a circle of the whole room looks like.
ring() {
	awk '
		NR == 1 { first = $1 }
		NR > 1 { print before, $1 }
		{ before = $1 }
		END { print before, first }' "$work/objects"
}

# room ROOM LIMIT
room() {
	edges "$1" > "$work/edges"
	if [ ! -s "$work/objects" ]; then
		n=$((n + 1))
		echo "ok $n - $1: at most $2 files call each other in a circle # SKIP not built"
		return
	fi
	found=$(over "$2" < "$work/edges")
	[ "$(wc -l < "$work/edges")" -ge "$(wc -l < "$work/objects")" ] ||
		found="$found the objects of $1 hardly call each other: the count is wrong"
	caught=$({ cat "$work/edges"; ring; } | over "$2")
	verdict "$1: at most $2 files call each other in a circle"
}

for tool in nm objdump; do
	command -v $tool > /dev/null || skip "$tool is not installed"
done
objects emu > "$work/objects"
object=$(awk '$1 == "qp" { print $2 }' "$work/objects")
[ -n "$object" ] || skip "the build has no shared objects"
objdump -r "$object" | grep -q R_X86_64_PLT32 ||
	skip "objects of another architecture, or compiled for link-time optimisation"
if nm "$object" | grep -qE '__(asan|tsan|ubsan|gcov|sanitizer|llvm_profile)'; then
	skip "instrumented objects call more than the sources say"
fi

echo 1..3
room emu 17
room lib 15
room passthrough 15
