#!/bin/sh
# What `datsim sweep` takes for a documented error is what the headers list behind "Errors:". A rule
# prints the calls where the two differ; it passes if it prints nothing for the tree, and something
# after a mistake.
table=$top_srcdir/tools/datsim/run/returns.c
. "$(dirname "$0")/begin.sh"

# The same of the tool's table, where a row may take several lines.
tabled() {
	tr '\n\t' '  ' < "$1" | sed 's/{ "/\n&/g' |
		sed -n 's/^{ "\(dat_[a-z_]*\)", *{\([^}]*\)}.*/\1 \2/p' |
		awk '{
			for (i = 2; i <= NF; i++) {
				sub(/,$/, "", $i)
				if ($i != "0")
					print $1, $i
			}
		}' | sort -u
}

header_errors > "$work/documented"
tabled "$table" > "$work/tabled"
sed 's/DAT_QUEUE_FULL/DAT_ABORT/' "$table" > "$work/mistake.c"
tabled "$work/mistake.c" > "$work/mistaken"
echo 1..1
found=$(diff "$work/documented" "$work/tabled")
caught=$(diff "$work/documented" "$work/mistaken")
[ -s "$work/tabled" ] || found="no table in $table"
verdict "errors of calls are those of the headers"
