#!/bin/sh
# Comments and pages are plain technical English: phrases that stand in for a noun, and words with a
# plainer equivalent, are listed here. doc/glossary.md says what to write instead.
. "$(dirname "$0")/begin.sh"

# Anywhere in a line, whatever the case
cat > "$work/phrases" << 'END'
by and by
in vain
for ever
nobody
somebody
everybody
whoever
of whom
to whom
who waits for
who is to be
what is due
all the same
so often
under way
END
# At the beginning of a comment or a sentence of its own line
openers='(/\*|^[[:blank:]]*\*|^[[:blank:]]*#) (Who|Whom|Those|What is|Where nobody|Whoever) '

# Generated pages and figures, the page that lists these words, and a list that names nobody.dsim.
excused='^doc/conformance\.md$|^doc/results/|^doc/glossary\.md$|^tests/house/words\.sh$'
excused="$excused|^tests/scripts/connect/Makefile\.inc\.am\$"

# Lines of a trace, whose words are a format (doc/trace.md).
formats='"- note thread %u of %s waits for ever"'

# FILE:LINE: TEXT of each such line in the files that stdin names
private_words() {
	tr '\n' '\0' > "$work/files"
	{
		xargs -r0 grep -nHiwF -f "$work/phrases" < "$work/files"
		xargs -r0 grep -nHE "$openers" < "$work/files"
	} | grep -vF "$formats" | sort -u
}

files() {
	find . \( -name build -o -name build-aux -o -name autom4te.cache -o -name '.?*' \) \
		-prune -o \
		\( -name '*.[chlym135]' -o -name '*.sh' -o -name '*.awk' -o -name '*.am' \
		-o -name '*.ac' -o -name '*.md' -o -name '*.dsim' -o -name '*.map' \
		-o -name check -o -name demo \) \
		-type f -print | sed 's|^\./||' | grep -vE "$excused" | sort
}

rule_words() {
	files | private_words
}

rule() {
	found=$(cd "$top_srcdir" && "$1")
	caught=$(cd "$work/planted" && "$1")
	verdict "$2"
}

mkdir -p "$work/planted/fault"
echo '/* Who is told waits in vain. */' > "$work/planted/fault/bad.c"
echo 1..1
rule rule_words "no private phrase in comments and pages"
