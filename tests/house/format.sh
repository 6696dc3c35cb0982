#!/bin/sh
# The C sources are formatted as .clang-format says. TAP, a line a folder; --apply formats instead.
# Releases of clang-format differ in details, so only the one we use has a say.
cd "${top_srcdir:-.}" || exit 99
wanted=14
format=
for name in clang-format-$wanted clang-format; do
	if $name --version 2> /dev/null | grep -q "version $wanted\."; then
		format=$name
		break
	fi
done

files() {
	find "$1" -name '*.[ch]' | sort
}
folders=$(for dir in include host lib verbs emu fault passthrough tools tests examples bench; do
	[ -d "$dir" ] && [ -n "$(files $dir)" ] && echo $dir
done)

if [ -z "$format" ]; then
	echo "1..0 # SKIP clang-format $wanted is not installed"
elif [ "$1" = --apply ]; then
	for dir in $folders; do
		files "$dir" | xargs $format -i
	done
else
	# shellcheck disable=SC2086
	set -- $folders
	echo "1..$#"
	n=0
	for dir; do
		n=$((n + 1))
		if report=$(files "$dir" | xargs $format --dry-run -Werror 2>&1); then
			echo "ok $n - $dir"
		else
			echo "not ok $n - $dir (make format mends it)"
			echo "$report" | grep 'error:' | cut -d: -f1 | uniq -c |
				awk '{ print "#   " $2 ": " $1 " places" }'
		fi
	done
fi
