#!/bin/sh
# The documents, the manual and the pictures as static pages: site.sh SOURCES TO, or make site.
# mkdocs makes them: it takes the Markdown of this tree as it is, checks links, and Debian keeps it.
# mandoc makes the manual's pages. Nothing in them is fetched from elsewhere.
set -e
sources=$(cd "${1:?usage: site.sh SOURCES TO}" && pwd)
mkdir -p "${2:?usage: site.sh SOURCES TO}"
to=$(cd "$2" && pwd)
for tool in mkdocs mandoc; do
	command -v $tool > /dev/null || {
		echo "site.sh: expected $tool: apt-get install mkdocs mandoc" >&2
		exit 77
	}
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
docs=$work/docs
mkdir -p "$docs/doc" "$docs/man"
cp "$sources"/README.md "$sources"/CHANGELOG.md "$sources"/CONTRIBUTING.md "$docs"
mkdir -p "$docs/packaging" && cp "$sources/packaging/README.md" "$docs/packaging/"
cp -r "$sources"/doc/*.md "$sources"/doc/img "$sources"/doc/results "$docs/doc"
mkdir -p "$docs/tests" && cp "$sources/tests/README.md" "$docs/tests/README.md"
cp "$sources/LICENSE" "$docs/LICENSE.txt"
cp "$sources/tools/site.css" "$docs/site.css"
# Python-Markdown takes no line with words behind the language for the begin of a block. A file's
# name goes on a line before the block; other words are for the tests of the documents. Nor does it
# take a tab for eight columns, as what is in the blocks does. A block that a tab indents, without a
# fence, loses four columns of eight again: they would be part of it.
find "$docs" -name '*.md' | while read -r page; do
	expand "$page" | sed -E '
		/^```[a-z]/,/^```$/!s,^        ,    ,
		s,^```([a-z]+) ([^ ]*[.][^ ]+)$,<p class="file">\2</p>\n\n```\1,
		s,^(```[a-z]+) .*,\1,' > "$work/page"
	mv "$work/page" "$page"
done

# Headings of Markdown for those of mandoc: mkdocs lists them beside the page.
headings() {
	awk '
	{ text = text (open ? " " : "") $0; open = 0 }
	text ~ /^<h[12]/ && text !~ /<\/h[12]>$/ { open = 1; next }
	text ~ /^<h[12]/ {
		marks = text ~ /^<h1/ ? "##" : "###"
		id = text
		sub(/.* id="/, "", id); sub(/".*/, "", id)
		gsub(/<[^>]*>/, "", text); gsub(/  +/, " ", text); gsub(/[_*`]/, "\\\\&", text)
		text = "<span id=\"" id "\"></span>\n</div>\n\n" marks " " text "\n\n<div>"
	}
	{ print text; text = "" }'
}

# One page of the manual each, and a list of them; a reference such as dat_ia_open(3) is a link.
{
	echo '# Manual'
	echo
	echo '| page | |'
	echo '|---|---|'
} > "$docs/man/index.md"
# What explains the others comes first.
{
	printf '%s\n' libdat.3 datsim.1 datsim-script.5 dat_sim.3 dat_event.3
	cd "$sources/doc/man" && ls -- *.[1357]
} | awk '!seen[$0]++' | while read -r name; do
	page=$sources/doc/man/$name
	grep -q '^\.so ' "$page" && continue
	title="${name%.*}(${name##*.})"
	about=$(sed -n '/^\.SH NAME/{n;s/.*\\- //p}' "$page" | sed 's/\\f[BIRP]//g; s/\\-/-/g')
	echo "| [$title]($name.md) | $about |" >> "$docs/man/index.md"
	{
		echo "# $title"
		echo
		echo '<div>'
		link='<a class="Xr" href="../\1.\2/">\1(\2)</a>'
		mandoc -T html -O fragment,man=../%N.%S/ "$page" | sed '
			/^<table class="head">/,/^<\/table>/d; /^<table class="foot">/,/^<\/table>/d
			/^<\/*section/d; /^<div class="manual-text">/d
			s,<b>\([a-zA-Z0-9_.-]*\)</b>(\([1357]\)),'"$link"',g
			s/^ *$//; /^$/d' | headings
	} > "$docs/man/$name.md"
done
# References to pages that are the system's, or another page's second name, are no links.
for html in "$docs"/man/*.md; do
	grep -o 'href="\.\./[^"]*/"' "$html" | sort -u | sed 's,href="\.\./\(.*\)/",\1,' |
		while read -r name; do
			[ -e "$docs/man/$name.md" ] && continue
			led=$(sed -n 's,^\.so man./,,p' "$sources/doc/man/$name" 2> /dev/null || :)
			if [ -n "$led" ]; then
				sed -i "s,href=\"\.\./$name/\",href=\"../$led/\",g" "$html"
			else
				sed -i "s,<a class=\"Xr\" href=\"\.\./$name/\">\([^<]*\)</a>,\1,g" \
					"$html"
			fi
		done
done

cat > "$work/mkdocs.yml" << END
site_name: libdat
docs_dir: $docs
site_dir: $to
theme:
  name: mkdocs
  highlightjs: false
extra_css: [site.css]
nav:
  - libdat: README.md
  - Use:
      - Tutorial: doc/tutorial.md
      - Your own program: doc/using.md
      - Card: doc/card.md
      - Questions: doc/faq.md
      - CI: doc/ci.md
      - Campaigns: doc/campaign.md
      - libibverbs and librdmacm: doc/verbs.md
      - RDMA adapters: doc/production.md
      - Packages: packaging/README.md
      - Security: doc/security.md
      - Status: doc/status.md
      - Changes: CHANGELOG.md
  - Manual: man/index.md
  - Reference:
      - Rulings: doc/rulings.md
      - Traces: doc/trace.md
      - Conformance: doc/conformance.md
      - Versions: doc/versioning.md
      - Glossary: doc/glossary.md
  - Develop:
      - Contributing: CONTRIBUTING.md
      - Architecture: doc/architecture.md
      - Where to look: doc/where.md
      - Paths of a call: doc/paths.md
      - Tests: tests/README.md
END
mkdocs --quiet build --strict --clean --config-file "$work/mkdocs.yml"
# Without an address of its own a site has no map.
rm -f "$to/sitemap.xml" "$to/sitemap.xml.gz"
echo "site: $to/index.html"
