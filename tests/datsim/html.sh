#!/bin/sh
# datsim show --html: one page that holds all it needs, and that a trace cannot put a script into.
# Its table is the timeline. In a browser, if chromium is installed: search, filter, zoom, the ways
# between row and arrow, hovers, dark screens and narrow ones.
. "$(dirname "$0")/begin.sh"
wire=$here/timeline/wire.trace
page=$scratch/page.html

write_page() { "$datsim" show --html "$page" "$@"; }
alone() { ! grep -oE "(src|href)=.[^#' ]*|url\\(http[^)]*|@import" "$page"; }
count() {
	have=$(grep -oc "$2" "$page")
	echo "$2: $have, wanted $1"
	[ "$have" -eq "$1" ]
}

echo 1..43
holds "a page is written" write_page "$wire"
cp "$page" "$scratch/first"
write_page "$wire"
holds "the same one twice" cmp "$page" "$scratch/first"
holds "it refers to nothing outside" alone
holds "and forbids it" grep -q "default-src 'none'" "$page"
holds "it has one script" count 1 '<script'
fields="title='emu0.ep1 packet to=emu1.ep1 op=SEND_FIRST.*psn="
holds "a row has the packet's fields" grep -q "data-e=' a.ep b.ep ' $fields" "$page"
# Of the marks of the diagram, arrows of acknowledgements have no row.
paired() {
	write_page "$1" && awk -F"'" '
	/^<tr data-l=/ {
		for (i = split($2, places, / /); i; i--)
			row[places[i]] = 1
	}
	/<path class=.arrow (plain|wrong)/ { arrows += $3 ~ /data-l/; mark[$4] = $0 }
	/<text class=.label/ {
		sub(/.*<text class=.label/, "")
		labels++
		mark[$3] = $0
	}
	END {
		for (at in mark)
			if (!(at in row)) {
				print "no row for", mark[at]
				bad = 1
			}
		print arrows " arrows, " labels " labels"
		exit bad || arrows < 10 || labels < 20
	}' "$page"
}
for name in wire verbs-pair programs; do
	holds "each arrow and each label has its row ($name)" paired "$here/timeline/$name.trace"
done
# An adapter that only answers has a lifeline, which can be chosen as an EP can.
chosen() {
	"$datsim" test --trace "$scratch/reject.trace" "$here/../scripts/connect/reject.dsim" &&
		write_page "$scratch/reject.trace" && grep '<option>emu1</option>' "$page" &&
		grep "data-e=' emu1 a.ep ' title='emu1 packet to=emu0.ep1 op=CM_REJ " "$page"
}
holds "each lifeline that can be chosen has its rows" chosen
# A header would begin the body, in which neither </head> nor <body> may stand.
body() {
	tr -d '\n' < "$page" | grep -o '<title>[^<]*</title></head><body><header>' &&
		count 1 '</head>' && count 1 '<body>'
}
holds "the body begins where its tag is" body
# The rows of the table and of the timeline, without the blanks between columns.
timeline() {
	write_page "$1" && LC_ALL=C.UTF-8 "$datsim" show --width 2000 "$1" | sed 1,2d |
		sed 's/  */ /g; s/^ //; s/ $//; /^$/d' > "$scratch/timeline" || return
	sed -n "/^<tr /{s/<wbr>//g; s/<[^>]*>/ /g; s/&#60;/</g; s/&#62;/>/g; s/&#39;/'/g
		s/&#34;/\"/g; s/&#38;/\&/g; s/  */ /g; s/^ //; s/ \$//; p}" "$page" \
		> "$scratch/table"
	diff "$scratch/timeline" "$scratch/table" && [ "$(wc -l < "$scratch/table")" -gt 20 ]
}
for name in wire pieces program programs verbs-pair; do
	holds "the table is the timeline ($name)" timeline "$here/timeline/$name.trace"
done
awk 'BEGIN {
	print "libdat trace 1"
	for (i = 0; i < 500; i++)
		print "7 emu0.ep1 post_recv bytes=64 segments=" i
	print "8 emu1.ep1 post_recv bytes=64 segments=1"
}' > "$scratch/repeats.trace"
repeats() {
	write_page "$scratch/repeats.trace" 2> "$scratch/noise"
	grep '^<tr' "$page"
	fields="title='emu0.ep1 post_recv bytes=64 segments=0&#10;(the first of 500)'"
	count 2 '^<tr' &&
		grep -q "^<tr data-l='0' .*$fields.*x500</td>" "$page"
}
holds "a repeated call is one row, and leads to its first line" repeats
events() {
	packet="<td class='w' colspan='2'>b&#62;a CM_REP</td>"
	write_page "$wire" && grep -q "<th>event</th></tr>" "$page" &&
		grep -q "$packet<td class='v'>a.ep2 CONNECTED<" "$page"
}
holds "an event stands in the column of events" events
arms() {
	write_page "$here/timeline/verbs-pair.trace" &&
		sed 's/<wbr>//g' "$page" |
			grep -q "<tr.* ibv_req_notify_cq .*>ibv_req_notify_cq(cq1)<" &&
		grep -q "<text class='label.*>ibv_req_notify_cq(cq1)<" "$page"
}
holds "arming a CQ is in the timeline and in the diagram" arms
holds "a note has its time" grep -q "<tr class='note'><td>[0-9.]*</td><td[^>]*>a second conn" \
	"$scratch/first"
faults() {
	"$datsim" test --trace "$scratch/faults.trace" "$here/timeline/faults.script" &&
		write_page "$scratch/faults.trace" &&
		grep -q "<td class='p'[^>]*>fault, line 6: alloc actor=a nth=1</td>" "$page" &&
		grep -q "<td class='a'>a pz fails by fault, line 6: alloc actor=a nth=1<" "$page"
}
holds "a fault has its line and its words, where it begins and where it acts" faults
holds "a page of a part" write_page --from 6 --until 9 "$wire"
holds "has that part only" sh -c "grep -q '>8.081<' $page && ! grep -q '>10.191<' $page"
expect 2 'cannot write /nowhere/x.html' show --html /nowhere/x.html "$wire"
expect 2 'html wants a file to write, got nothing' show --html
echo 'no trace' > "$scratch/not.trace"
expect 2 'not a trace' show --html "$page" "$scratch/not.trace"

evil="</script><script>document.title='hit'</script><img/src=x/onerror=document.title='hit'>'\"&"
{
	echo 'libdat trace 1'
	echo "0 emu0.ep1 create $evil"
	echo "0 emu1.ep1 create"
	echo "5 emu0.ep1 packet to=emu1.ep1 op=$evil message=1 packet=0 psn=1"
	echo "5 em\"'<b>u.ep2 $evil x=$evil"
	echo "6 - note $evil"
} > "$scratch/evil.trace"
holds "a hostile trace makes a page" write_page "$scratch/evil.trace"
"$datsim" show --svg "$scratch/evil.svg" "$scratch/evil.trace" 2> "$scratch/noise"
unhurt() {
	count 1 '<script' && ! grep -qiE '<img|<b>u' "$page" "$scratch/evil.svg" &&
		! grep -q '<script' "$scratch/evil.svg" && xmllint --noout "$scratch/evil.svg"
}
holds "in which nothing of it is markup" unhurt
awk 'BEGIN {
	print "libdat trace 1"
	for (i = 0; i < 20050; i++)
		print i " emu0.ep1 post_recv bytes=" i
	print "# end lines=20050"
}' > "$scratch/long.trace"
holds "an enormous trace makes a page" write_page "$scratch/long.trace"
holds "of bounded size, which says so" grep -q 'Only the first 20000 rows are here' "$page"
awk 'BEGIN {
	print "libdat trace 1"
	for (i = 0; i < 2000; i++)
		print i * 1000 " emu" i ".ep1 event number=IBV_EVENT_QP_FATAL"
	print "# end lines=2000"
}' > "$scratch/wide.trace"
bounded() {
	write_page "$scratch/wide.trace" && [ "$(wc -c < "$page")" -lt 3000000 ] &&
		[ "$(grep -c "<rect class='head'" "$page")" -ge 2000 ]
}
holds "so is one of 2,000 lifelines" bounded

flags=
browser=$(command -v chromium || command -v chromium-browser)
if [ -z "$browser" ] || ! command -v timeout > /dev/null; then
	while [ $n -lt 41 ]; do
		n=$((n + 1))
		echo "ok $n # SKIP chromium is not installed"
	done
	exit 0
fi

# browse SCRIPT TRACE, with more $flags: the page after this script has run in it
browse() {
	write_page "$2" 2> "$scratch/noise"
	{
		sed '$d' "$page"
		echo "const out = (s) => document.body.append('[' + s + ']');"
		printf '%s\n</script></body></html>\n' "$1"
	} > "$scratch/run.html"
	# shellcheck disable=SC2086 # words
	timeout 60 "$browser" $flags --headless --no-sandbox --disable-gpu --no-first-run \
		--disable-background-networking --disable-component-update --disable-sync \
		--user-data-dir="$scratch/profile" --dump-dom "file://$scratch/run.html" \
		2> "$scratch/noise" | tail -c 3000 > "$scratch/dom"
	tail -c 300 "$scratch/dom"
}
shows() { browse "$2" "${3:-$wire}" && grep -qF "$1" "$scratch/dom"; }
holds "all rows are counted in a browser" shows '[true]' \
	"out(/^([0-9]+) of \\1 rows/.test(\$('said').textContent));"
holds "search leaves the rows with the words" shows '[1]' "\$('find').value = 'send_first';
	filter();
	out(rows.filter((r) => !r.classList.contains('hid')).length - 0);"
holds "a QP leaves its rows" shows '[true]' "\$('ep').value = 'b.ep2'; filter();
	out(rows.filter((r) => !r.classList.contains('hid')).every((r) =>
		r.dataset.e.includes('b.ep2')));"
holds "a row leads to its arrow" shows '[arrow plain pick]' "rows.find((r) =>
	r.title.includes('SEND_FIRST')).click();
	out(svg.querySelector('path.pick').getAttribute('class'));"
holds "and an arrow to its row" shows '[SEND_FIRST]' "marks.find((m) =>
	m.textContent.includes('SEND_FIRST'))
	.dispatchEvent(new MouseEvent('click', {bubbles: true}));
	out(document.querySelector('tr.pick').title.match(/SEND_FIRST/)[0]);"
holds "zoom makes the diagram larger" shows '[1.25]' "const before = zoom; \$('more').click();
	out(svg.getAttribute('width') / width / before);"
holds "a hover shows the lines of a row, and a mark's line" shows '[true true 2]' "
	const hovers = marks.map((m) => [m.dataset.l,
		m.querySelector('title')?.textContent || '']);
	out([hovers.length > 50 && hovers.every(([, t]) => t),
		hovers.filter(([l, t]) => / op=SEND_FIRST | to=CONNECTED/.test(t) &&
			rows.find((r) => lines(r).includes(l))?.title.includes(t)).length > 2,
		rows.find((r) => r.title.includes('op=CM_REP'))?.title.split('\\n').length]
		.join(' '));"
# Contrast as WCAG counts it.
contrast="const light = (c) => c.match(/[0-9.]+/g).slice(0, 3).map((v) => v / 255)
		.map((v) => v <= 0.04 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
		.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0.05);
	const paper = light(getComputedStyle(svg.querySelector('.paper')).fill);
	const ratio = (l) => Math.max(l, paper) / Math.min(l, paper);
	const faint = (css, by) => [...document.querySelectorAll(css)].filter((x) =>
		ratio(light(getComputedStyle(x)[by])) < 4).map((x) => x.getAttribute('class'));
	out([paper < 0.2, faint('.dot,.label', 'fill'), faint('.arrow:not(.quiet)', 'stroke'),
		faint('#rows td', 'color'), faint('#tip path,#tipwrong path', 'fill')].join());"
flags='--window-size=1280,800 --blink-settings=preferredColorScheme=0'
holds "nothing is faint on a dark screen" shows '[true,,,,]' "$contrast"
holds "a diagram of a pair fits at first, beside its timeline" shows '[true true true]' "
	const [l, r] = ['left', 'right'].map((id) => \$(id).getBoundingClientRect());
	out([\$('right').scrollWidth <= \$('right').clientWidth, l.right <= r.left,
		width > r.width].join(' '));" "$here/timeline/programs.trace"
holds "one of five lifelines is read by scrolling, and fitted on demand" \
	shows '[true true true true]' "
	const wide = [\$('right').scrollWidth > \$('right').clientWidth, zoom * 11 > 6.9];
	\$('right').scrollLeft = 1e6;
	wide.push(\$('right').scrollLeft + \$('right').clientWidth > width * zoom - 1);
	\$('fit').click();
	out([...wide, \$('right').scrollWidth <= \$('right').clientWidth].join(' '));"
flags=--window-size=700,900
holds "in a narrow window the diagram stands below" shows '[true true]' "
	const [l, r] = ['left', 'right'].map((id) => \$(id).getBoundingClientRect());
	out([l.bottom <= r.top, l.width === innerWidth && r.bottom <= innerHeight].join(' '));"
flags=
holds "a hostile trace runs nothing" shows '[safe]' \
	"out(document.title === 'hit' ? 'hit' : 'safe');" "$scratch/evil.trace"
