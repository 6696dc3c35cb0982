#!/bin/sh
# README.md, doc/tutorial.md, doc/card.md and the examples of datsim-script(5) are correct: every
# script and program in them runs, every command prints what they show, and the picture in README.md
# is what datsim draws. tutorial.sh --write updates the outputs in both pages, and the picture.
. "${top_srcdir:?}/tests/datsim/user.sh"
mkdir "$work/page" "$work/readme" "$work/card" "$work/user/tests"
cp -r "$src/tests/planted" "$work/user/tests"
chmod -R u+w "$work/user/tests"

# same WANTED GOT: compares two files; a line "..." in WANTED stands for any lines
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

# pages FUNCTION: call it with each page and the folder that its blocks are in.
pages() {
	$1 "$src/README.md" "$work/readme"
	$1 "$src/doc/tutorial.md" "$work/steps"
	$1 "$src/doc/card.md" "$work/card"
}

split() {
	awk -v to="$2" -f "$src/tests/datsim/fences.awk" "$1"
	touch "$2/problems"
}
pages split

# The examples of the manual page; an example without a use line gets the usual fixture.
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

# One page: its files are put into the user's folder and its commands run there, in order.
run_page() {
	verdict "$(wc -l < "$2/problems")" "every block of ${1##*/} is run or a file" "$2/problems"
	for base in $(ls "$2"/*.line | sed 's/\.line$//'); do
		if [ -f "$base.file" ]; then
			to=$work/user/$(cat "$base.file")
			mkdir -p "${to%/*}"
			cp "$base.body" "$to"
		else
			step "$base" "${1##*/}"
		fi
	done
}

write_page() {
	awk -v to="$2" -v write=1 -f "$src/tests/datsim/fences.awk" "$1" > "$work/written" &&
		cp "$work/written" "$1"
}

# The picture's script leaves a trace, whose name is the picture's title.
draw() {
	cd "$work" && datsim test --trace low-watermark.trace "$src/doc/img/low-watermark.dsim" &&
		datsim show --svg low-watermark.svg low-watermark.trace
}
picture=$src/doc/img/low-watermark.svg

if [ "${1:-}" = --write ]; then
	pages run_page > /dev/null
	pages write_page
	(draw) > /dev/null && cp "$work/low-watermark.svg" "$picture"
	exit
fi

echo "1..$(($(ls "$work"/readme/*.cmd "$work"/steps/*.cmd "$work"/card/*.cmd \
	"$work"/page/*.dsim | wc -l) + 4))"
pages run_page
(draw && cmp "$picture" low-watermark.svg) > "$work/said" 2>&1
verdict $? "doc/img/low-watermark.svg is what datsim draws now (make tutorial draws it)" \
	"$work/said"

for file in "$work"/page/*.dsim; do
	"$top/tools/datsim/datsim" test "$file" > "$work/said" 2>&1
	verdict $? "datsim-script(5), example ${file##*/}" "$work/said"
done
