#!/bin/sh
# doc/tutorial.md and the examples of datsim-script(5) are true: every script in them runs, every
# command prints what they say. tutorial.sh --write puts into the tutorial what is printed today.
. "${top_srcdir:?}/tests/datsim/user.sh"
mkdir "$work/page"

# same WANTED GOT: a line "..." stands for any lines
same() {
	awk -v wanted="$1" '
		BEGIN { while ((getline line < wanted) > 0) want[++n] = line; i = 1 }
		want[i] == "..." { any = 1; i++ }
		any && $0 != want[i] { next }
		$0 != want[i] { bad = 1; exit }
		{ any = 0; i++ }
		END {
			if (want[i] == "...") i++
			exit bad || i != n + 1
		}' "$2"
}

n=0
verdict() { # STATUS NAME FILE-THAT-SAYS-WHY
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		sed 's/^/#   /' "$3"
	fi
}

# One command of a page, in the folder of the user.
step() {
	line=$(cat "$1.line")
	name="$2:$line: $(head -1 "$1.cmd" | tr '#' ' ')"
	if [ -f "$1.needs" ] && [ -z "$library" ]; then
		n=$((n + 1))
		echo "ok $n - $name # SKIP no plain shared library in this build"
		return
	fi
	(cd "$work/user" && sh "$1.cmd") > "$1.got" 2>&1 < /dev/null
	if same "$1.expected" "$1.got"; then
		verdict 0 "$name"
	else
		diff "$1.expected" "$1.got" > "$1.diff"
		verdict 1 "$name" "$1.diff"
	fi
	[ ! -s "$1.expected" ] || ! grep -qx '\.\.\.' "$1.expected" || cp "$1.expected" "$1.got"
}

page=$src/doc/tutorial.md
awk -v to="$work/steps" -f "$src/tests/datsim/fences.awk" "$page"

# The examples of the manual page; one that uses nothing gets the usual fixture.
awk -v to="$work/page" '
	/^\.EX/ { file = sprintf("%s/%02d.dsim", to, ++n); on = 1; text = ""; next }
	/^\.EE/ {
		on = 0
		if (text !~ /(^|\n)use /)
			text = "use connected a@emu0 b@emu1 srq=S max=10\n" text
		printf "%s", text > file
		close(file)
	}
	on {
		gsub(/\\fB|\\fI|\\fR|\\fP|\\&/, ""); gsub(/\\-/, "-"); gsub(/\\\(aq/, "\047")
		gsub(/\\\(ti/, "~"); gsub(/\\\(ha/, "^"); gsub(/\\e/, "\\")
		text = text $0 "\n"
	}' "$src/doc/man/datsim-script.5"

if [ "${1:-}" != --write ]; then
	echo "1..$(($(ls "$work"/steps/*.cmd "$work"/page/*.dsim | wc -l) + 1))"
fi
touch "$work/steps/problems"
verdict "$(wc -l < "$work/steps/problems")" "every block of the tutorial is run or a file" "$work/steps/problems"

for base in $(ls "$work"/steps/*.line | sed 's/\.line$//'); do
	if [ -f "$base.file" ]; then
		to=$work/user/$(cat "$base.file")
		mkdir -p "${to%/*}"
		cp "$base.body" "$to"
	else
		step "$base" tutorial.md
	fi
done > "$work/tap"
# The loop ran in this shell, so n counts on.
if [ "${1:-}" = --write ]; then
	awk -v to="$work/steps" -v write=1 -f "$src/tests/datsim/fences.awk" "$page" > "$work/written" &&
		cp "$work/written" "$page"
	exit
fi
cat "$work/tap"

for file in "$work"/page/*.dsim; do
	"$top/tools/datsim/datsim" test "$file" > "$work/said" 2>&1
	verdict $? "datsim-script(5), example ${file##*/}" "$work/said"
done
