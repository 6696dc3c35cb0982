#!/bin/sh
# datsim show --html: one page that holds all it needs, and that a trace cannot put a script into.
# In a browser, if chromium is installed: search, filter, zoom, and the ways between row and arrow.
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

echo 1..25
holds "a page is written" write_page "$wire"
cp "$page" "$scratch/first"
write_page "$wire"
holds "the same one twice" cmp "$page" "$scratch/first"
holds "it refers to nothing outside" alone
holds "and forbids it" grep -q "default-src 'none'" "$page"
holds "it has one script" count 1 '<script'
fields="title='emu0.ep1 packet to=emu1.ep1 op=SEND_FIRST.*psn="
holds "a row has the packet's fields" grep -q "data-e=' a.ep b.ep ' $fields" "$page"
pairs() {
	sed -n "s/.*<path class='arrow plain' data-l='\([0-9]*\)'.*/\1/p" "$page" \
		> "$scratch/arrows"
	while read -r l; do
		grep -q "<tr data-l='$l'" "$page" || return 1
	done < "$scratch/arrows"
	[ "$(wc -l < "$scratch/arrows")" -gt 10 ]
}
holds "each arrow has its row" pairs
arms() {
	write_page "$here/timeline/verbs-pair.trace" &&
		grep -q "<tr.* ibv_req_notify_cq .*>client: ibv_req_notify_cq(cq1)<" "$page" &&
		grep -q "<text class='label.*>ibv_req_notify_cq(cq1)<" "$page"
}
holds "arming a CQ is in the timeline and in the diagram" arms
holds "a note has its time" grep -q "<tr class='note'><td>[0-9.]*</td><td[^>]*>a second conn" \
	"$scratch/first"
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

browser=$(command -v chromium || command -v chromium-browser)
if [ -z "$browser" ] || ! command -v timeout > /dev/null; then
	while [ $n -lt 24 ]; do
		n=$((n + 1))
		echo "ok $n # SKIP chromium is not installed"
	done
	exit 0
fi

# browse SCRIPT TRACE: the page after this script has run in it
browse() {
	write_page "$2" 2> "$scratch/noise"
	{
		sed '$d' "$page"
		echo "const out = (s) => document.body.append('[' + s + ']');"
		printf '%s\n</script></body></html>\n' "$1"
	} > "$scratch/run.html"
	timeout 60 "$browser" --headless --no-sandbox --disable-gpu --no-first-run \
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
holds "zoom makes the diagram larger" shows '[1.25]' "\$('more').click();
	out(svg.getAttribute('width') / width);"
holds "a hostile trace runs nothing" shows '[safe]' \
	"out(document.title === 'hit' ? 'hit' : 'safe');" "$scratch/evil.trace"
