#!/bin/sh
# links.sh FOLDER: prints each link of a document in FOLDER that leads to no file there, and fails
# if there is one, or if there is no link at all.
cd "$1" 2> /dev/null || {
	echo "no folder $1"
	exit 1
}
find . -name '*.md' -exec grep -HoE '\]\([^)#: ]+[)#]' {} + | {
	links=0 dead=0
	while IFS= read -r link; do
		page=${link%%:*} to=${link#*](}
		to=${to%?} links=$((links + 1))
		[ -e "${page%/*}/$to" ] || {
			dead=$((dead + 1))
			echo "$page: $to"
		}
	done
	[ $links -gt 0 ] || echo "no link in $1"
	[ $links -gt 0 ] && [ $dead -eq 0 ]
}
