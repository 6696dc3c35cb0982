#!/bin/sh
# Pages name files of this tree; a file that moved takes its mention along.
. "$(dirname "$0")/begin.sh"

# The folders of this tree, for a pattern
folders='host|lib|verbs|emu|fault|passthrough|tools|tests|bench|examples|include|doc|m4'

# FILE: `path` for each path of the tree that a page names in backquotes and that is not there. A
# mention like `emu/shared/` is a folder, maybe in the page's own; globs and names with <...> or ...
# are examples.
missing_paths() {
	for page; do
		grep -oE "\`($folders)/[A-Za-z0-9_./-]*\`" "$page" |
			tr -d '`' | sort -u | while read -r path; do
			case $path in
			*...* | *FOLDER* | *THING* | *NAME* | *SUBJECT*) continue ;;
			esac
			[ -e "${path%/}" ] || [ -e "$path.c" ] || [ -e "$path.sh" ] ||
				[ -e "$(dirname "$page")/${path%/}" ] || echo "$page: $path"
		done
	done
}

# PAGE: what an entry of its list names in backquotes stands in one of the files that it names.
missing_names() {
	awk '
		/^- / { print entry; entry = $0; next }
		/^(#.*)?$/ { print entry; entry = ""; next }
		entry { entry = entry " " $0 }
		END { print entry }' "$1" | while IFS= read -r entry; do
		named=$(printf '%s\n' "$entry" | grep -oE '`[A-Za-z0-9_./-]+`' | tr -d '`')
		files=$(for name in $named; do [ ! -e "$name" ] || echo "$name"; done)
		[ -n "$files" ] || continue
		for name in $named; do
			case $name in *[!A-Za-z0-9_]*) continue ;; esac
			# shellcheck disable=SC2086
			grep -rqwF -e "$name" $files || echo "$1: $name is in none of" $files
		done
	done
}

cd "$top_srcdir" || exit 99
echo 1..2
printf 'see `host/nic.h` and `lib/no_such_file.c`\n' > "$work/planted.md"
caught=$(missing_paths "$work/planted.md")
found=$(missing_paths README.md CONTRIBUTING.md doc/*.md tests/README.md 2> /dev/null)
verdict "every file that a page names is there"

printf -- '- **Planted**: `no_such_function` in\n  `host/nic.h`, `nic_ops`\n' > "$work/planted.md"
caught=$(missing_names "$work/planted.md")
found=$(missing_names doc/where.md)
verdict "doc/where.md names functions and fields in the files that have them"
