#!/bin/sh
# datsim show --svg: the diagram shows what is in the trace, is XML, and is the same every time.
. "$(dirname "$0")/begin.sh"

same_count() {
	have=$(grep -c "$2" "$3")
	want=$(grep -c "$4" "$5")
	echo "$1: $have, wanted $want"
	[ "$have" -eq "$want" ] && [ "$want" -gt 0 ]
}

refuses() {
	status=$1
	text=$2
	shift 2
	"$datsim" "$@" > "$scratch/refusal" 2>&1
	got=$?
	cat "$scratch/refusal"
	[ $got -eq "$status" ] && grep -q "$text" "$scratch/refusal"
}

story=$here/../../doc/demo.dsim
pieces=$here/timeline/pieces.trace
svg=$scratch/a.svg

echo 1..68
holds "the demo writes a trace" "$datsim" test --trace "$scratch/story.trace" "$story"
holds "its diagram is drawn" "$datsim" show --svg "$svg" "$scratch/story.trace"
holds "it is XML" xmllint --noout "$svg"
holds "a second drawing" "$datsim" show --svg "$scratch/b.svg" "$scratch/story.trace"
holds "drawn twice, the files are equal" cmp "$svg" "$scratch/b.svg"
sed -n '/script begins/,/script ends/p' "$scratch/story.trace" > "$scratch/body"
holds "every packet is an arrow" same_count arrows "class='arrow" "$svg" " packet " "$scratch/body"
holds "every watermark event has its flag" same_count flags "<path class='flag'.*/>\$" "$svg" \
	"evd1 event number=ASYNC_SRQ_LOW_WATERMARK" "$scratch/body"
holds "the queue has its graph" grep -q "class='name' x=.*>b.S</text>" "$svg"
holds "EPs have the script's names" grep -q ">b.ep</text>" "$svg"
holds "armed and fired watermarks look different" \
	sh -c "grep -q \"class='armed'\" $svg && grep -q \"class='spent'\" $svg"
holds "a trace with all kinds of lines is drawn with --all" "$datsim" show --all --svg "$svg" \
	"$pieces"
holds "it is XML too" xmllint --noout "$svg"
printf 'libdat trace 1\n5 emu0.ep1 state from=A to=<&%b\n' "'\\377\\001" > "$scratch/odd.trace"
holds "characters that XML cannot hold are replaced" \
	sh -c "\"$datsim\" show --svg $svg $scratch/odd.trace && xmllint --noout $svg"
holds "a file that cannot be written" refuses 2 'cannot write /nowhere/x.svg' show --svg \
	/nowhere/x.svg "$pieces"
echo "no trace" > "$scratch/not.trace"
holds "a file that is no trace is refused" refuses 2 'not a trace' show --svg "$svg" \
	"$scratch/not.trace"

wire=$here/timeline/wire.trace
holds "RDMA and faults are drawn" "$datsim" show --svg "$svg" "$wire"
holds "the drawing is XML" xmllint --noout "$svg"
sed -n '/script begins/,/script ends/p' "$wire" > "$scratch/body"
holds "lost packets are crossed out" same_count crosses "class='cross'" "$svg" " drop \| corrupt " \
	"$scratch/body"
holds "a delayed packet names its fault" \
	grep -q "class='label wrong.*>SEND #4 delayed by fault 1</text>" "$svg"

# x_of NAME: the x coordinate of a lifeline
x_of() {
	sed -n "s|.*<text class='name mid' x='\\([0-9.]*\\)' y='47.0'>$1</text>.*|\\1|p" "$svg"
}

order() {
	x_of 'a.ep' > "$scratch/x" && x_of 'b.ep' >> "$scratch/x" && x_of 'a.ep2' >> "$scratch/x" &&
		x_of 'b.ep2' >> "$scratch/x" && x_of 'a.ep3' >> "$scratch/x"
	tr '\n' ' ' < "$scratch/x"
	[ "$(wc -l < "$scratch/x")" -eq 5 ] && sort -n -c "$scratch/x"
}
holds "the ends of a connection stand side by side" order

# A retransmission leaves when it is sent again, not when it was posted.
cat > "$scratch/again.dsim" << 'END'
use    connected a@emu0 b@emu1
       b: dat_ep_post_recv(ep, 64) x2
       fault link a>b drop opcode=SEND nth=1
       a: dat_ep_post_send(ep, 64)
+9us   a: dat_ep_post_send(ep, 64)
*      b: event recv DTO_COMPLETION x2
end
END
again() {
	"$datsim" test --trace "$scratch/again.trace" "$scratch/again.dsim" &&
		"$datsim" show --svg "$svg" "$scratch/again.trace" || return
	at="cx='\\([0-9.]*\\)' cy='\\([0-9.]*\\)'"
	from=$(sed -n "/>sends again from #1/s|.*$at.*|M\\1 \\2L|p" "$svg")
	echo "from $from"
	[ -n "$from" ] &&
		[ "$(grep -c "class='arrow plain' data-l='[0-9]*' d='$from" "$svg")" -eq 2 ]
}
holds "a retransmission leaves when it is sent again" again
lost_at_post() {
	y=$(sed -n "/>dat_ep_post_send(ep, 64)</s|.*cy='\\([0-9.]*\\)'.*|\\1|p" "$svg" | head -1)
	grep -q "class='arrow wrong lost' data-l='[0-9]*' d='M[0-9.]* ${y}L" "$svg"
}
holds "a lost packet left when it was posted" lost_at_post

"$datsim" show --svg "$svg" "$wire"
# The boxes of labels and of names meet neither each other nor an arrow, no label meets the line of
# a time or of a mark, and no arrow ends where another one does.
boxes() {
	LC_ALL=C awk -F"'" -v least="$2" '
	BEGIN { labels = lines = heads = ticks = 0 }
	function number(name, i) {
		for (i = 1; i < NF; i++)
			if ($i ~ name "=$")
				return $(i + 1) + 0
	}
	/<path class=.arrow/ {
		for (i = 1; i < NF; i++)
			if ($i ~ / d=$/) {
				split(substr($(i + 1), 2), at, /[ L]/)
				for (k = 1; k <= 4; k++)
					line[lines, k] = at[k]
				if ($2 !~ /quiet/ && ends[at[3], at[4]]++) {
					print "two arrows end at", at[3], at[4]
					met = 1
				}
				lines++
			}
	}
	/<rect class=.head/ {
		for (i = 1; i <= 4; i++)
			head[heads, i] = $(2 + 2 * i) + 0
		heads++
	}
	/<path class=.(tick|thread)/ {
		n = split($4, piece, "M")
		for (i = 2; i <= n; i++) {
			split(piece[i], at, /[ H]/)
			for (k = 1; k <= 3; k++)
				tick[ticks, k] = at[k]
			ticks++
		}
	}
	# Does line k meet the box with these sides?
	function crosses(k, left, right, top, bottom, t, x, y) {
		if ((line[k, 2] < top && line[k, 4] < top) ||
		    (line[k, 2] > bottom && line[k, 4] > bottom))
			return 0
		for (t = 0; t <= 40; t++) {
			x = line[k, 1] + (line[k, 3] - line[k, 1]) * t / 40
			y = line[k, 2] + (line[k, 4] - line[k, 2]) * t / 40
			if (x > left && x < right && y > top && y < bottom)
				return 1
		}
		return 0
	}
	/<text class=.label/ {
		rest = $0
		sub(/.*<text class=.label[^>]*>/, "", rest)
		sub(/<.*/, "", rest)
		gsub(/&[^;]*;|[\300-\367][\200-\277]+/, "x", rest)
		sub(/.*<text/, "<text")
		$0 = $0
		w = length(rest) * 6.6
		x = number(" x")
		box[labels, 1] = $2 ~ / end/ ? x - w : x
		box[labels, 2] = box[labels, 1] + w
		box[labels++, 3] = number(" y")
	}
	END {
		for (i = 0; i < labels; i++) {
			for (k = 0; k < i; k++)
				if (box[i, 1] < box[k, 2] && box[k, 1] < box[i, 2] &&
				    box[i, 3] - box[k, 3] < 9 && box[k, 3] - box[i, 3] < 9)
					bad[i] = 1
			for (k = 0; k < lines; k++)
				if (crosses(k, box[i, 1], box[i, 2], box[i, 3] - 8, box[i, 3] + 2))
					bad[i] = 1
			for (k = 0; k < ticks; k++)
				if (tick[k, 1] < box[i, 2] && tick[k, 3] > box[i, 1] &&
				    tick[k, 2] > box[i, 3] - 9 && tick[k, 2] < box[i, 3] + 3)
					bad[i] = 1
			for (k = 0; k < heads; k++)
				if (box[i, 1] < head[k, 1] + head[k, 3] && box[i, 2] > head[k, 1] &&
				    box[i, 3] + 3 > head[k, 2] &&
				    box[i, 3] - 9 < head[k, 2] + head[k, 4])
					bad[i] = 1
		}
		for (i = 0; i < heads; i++) {
			for (k = 0; k < lines; k++)
				if (crosses(k, head[i, 1], head[i, 1] + head[i, 3], head[i, 2],
					    head[i, 2] + head[i, 4])) {
					print "head", i, "on an arrow"
					met = 1
				}
			for (k = 0; k < i; k++)
				if (head[i, 1] < head[k, 1] + head[k, 3] &&
				    head[k, 1] < head[i, 1] + head[i, 3] &&
				    head[i, 2] < head[k, 2] + head[k, 4] &&
				    head[k, 2] < head[i, 2] + head[i, 4]) {
					print "heads", k, "and", i
					met = 1
				}
		}
		for (i in bad) {
			print "at", box[i, 1], box[i, 3]
			met = 1
		}
		print labels " labels, " lines " arrows, " heads " heads, " ticks " pieces of lines"
		exit met || labels < least || lines < least / 4 || heads < 2 || ticks < least / 8
	}' "$1"
}
for name in wire pieces programs verbs-pair program; do
	"$datsim" show --svg "$svg" "$here/timeline/$name.trace"
	holds "labels cover no arrow and no label ($name)" boxes "$svg" 20
done
# Names that are longer than the labels beside them.
sed 's/client/ibv_rc_pingpong2/g; s/server/ibv_rc_pingpong/g' "$here/timeline/verbs-pair.trace" \
	> "$scratch/names.trace"
"$datsim" show --svg "$svg" "$scratch/names.trace"
holds "long names of programs do not meet" boxes "$svg" 20
# What asks for a connection, and what answers, leaves with its call.
calls() {
	"$datsim" show --svg "$svg" "$here/timeline/$1.trace"
	for packet in "CM_REQ $2" "CM_REP $3"; do
		y=$(sed -n "/>[^<]*${packet#* }[^<]*</s|.*cy='\\([0-9.]*\\)'.*|\\1|p" "$svg" |
			head -1)
		echo "${packet#* } at $y"
		[ -n "$y" ] && grep -q "d='M[0-9.]* ${y}L.* op=${packet% *} " "$svg" || return
	done
}
holds "a request for a connection leaves with its call (uDAPL)" calls programs \
	ACTIVE_CONNECTION_PENDING COMPLETION_PENDING
holds "so does one of verbs" calls verbs-pair rdma_connect rdma_accept
# Programs stand in the order of the timeline's columns: that in which they began.
lanes() {
	sed 's/client/zebra/g; s/server/apple/g' "$here/timeline/verbs-pair.trace" |
		sed "s/$1/a$1/g; s/$2/z$2/g" > "$scratch/lanes.trace"
	"$datsim" show --svg "$svg" "$scratch/lanes.trace" || return
	"$datsim" show "$scratch/lanes.trace" | sed -n '1{s/time, us//;s/wire//;s/  */ /g;p}' \
		> "$scratch/columns"
	sed -n "s|.*y='47.0'>\\([^<]*\\)\\.qp1</text>.*|\\1|p" "$svg" | tr '\n' ' ' \
		> "$scratch/heads"
	cat "$scratch/columns" "$scratch/heads"
	[ "$(tr -d ' \n' < "$scratch/columns")" = "$(tr -d ' \n' < "$scratch/heads")" ]
}
holds "lifelines are in the order of the columns" lanes zebra apple
holds "whichever name is the first of the alphabet" lanes apple zebra
"$datsim" test --trace "$scratch/faults.trace" "$here/timeline/faults.script" > "$scratch/noise"
holds "a script's faults are drawn" "$datsim" show --svg "$svg" "$scratch/faults.trace"
rules() {
	for words in ' 1, line 4: link a&#62;b drop opcode=SEND nth=1' \
		', line 6: alloc actor=a nth=2' \
		' 2, line 5: link b&#62;a loss 5% opcode=SEND optional'; do
		[ "$(grep -cE "<text class='note'[^>]*>fault$words</text>" "$svg")" -eq 1 ] ||
			return
	done
}
holds "each rule is a note, in the words of the script" rules
holds "a packet names its rule and line" grep -q ">SEND #1 dropped by fault 1, line 4</text>" "$svg"
holds "what else a rule hits names it, too" \
	grep -q ">wc_recv delayed by fault, line 10: completion ep=b.ep op=RECV nth=1 delay 5us<" \
	"$svg"
holds "labels and notes are XML" xmllint --noout "$svg"
holds "and do not meet" boxes "$svg" 9
# Calls that arm a notification are labels as other calls are, in the timeline and the picture.
pair=$here/timeline/verbs-pair.trace
"$datsim" show --svg "$svg" "$pair"
holds "each arming of a CQ is a label" same_count labels ">ibv_req_notify_cq(cq1)<" "$svg" \
	" ibv_req_notify_cq " "$pair"
holds "so is each event of one" same_count labels ">ibv_get_cq_event(cq1)<" "$svg" \
	" ibv_get_cq_event" "$pair"
cat > "$scratch/arm.dsim" << 'END'
use    connected a@emu0 b@emu1
       b: dat_cno_create(ia) -> cno
       b: dat_evd_modify_cno(recv, cno)
       b: dat_evd_disable(recv)
       b: dat_evd_enable(recv)
       b: dat_evd_set_unwaitable(recv)
       b: dat_evd_clear_unwaitable(recv)
       b: dat_cno_modify_agent(cno, 0)
       b: dat_evd_modify_cno(recv, NULL)
       b: dat_ep_create(ia, pz, recv, request, connect, NULL) -> made
       b: dat_ep_modify(made, {max_recv_dtos=4})
       b: dat_ep_get_status(ep)
       b: dat_evd_query(recv)
end
END
armed() {
	"$datsim" test --trace "$scratch/arm.trace" "$scratch/arm.dsim" &&
		"$datsim" show --svg "$svg" "$scratch/arm.trace" || return
	"$datsim" show "$scratch/arm.trace" > "$scratch/rows"
	for call in 'evd_modify_cno(recv, cno)' 'evd_disable(recv)' 'evd_enable(recv)' \
		'evd_set_unwaitable(recv)' 'evd_clear_unwaitable(recv)' \
		'cno_modify_agent(cno)' 'evd_modify_cno(recv, NULL)' 'ep_modify(made)'; do
		grep -qF ">dat_$call<" "$svg" && grep -qF "b: dat_$call" "$scratch/rows" || {
			echo "expected dat_$call in the picture and in the timeline"
			return 1
		}
	done
}
holds "each call that arms or modifies is one" armed
asked() {
	for call in 'ep_get_status(ep) = CONNECTED, receives 0, requests 0' 'evd_query(recv)'; do
		! grep -F "dat_$call" "$svg" || return
		[ "$(grep -cF "b: dat_$call" "$scratch/rows")" -eq 1 ] || return
	done
	"$datsim" show --all --svg "$svg" "$scratch/arm.trace" || return
	grep -qF '>dat_evd_query(recv)<' "$svg"
}
holds "calls that only ask are rows of the timeline, and labels with --all" asked

"$datsim" show --svg "$svg" "$wire"
holds "packets that are ignored are arrows, too" same_count ignored "class='arrow quiet ignored" \
	"$svg" " ignore at=" "$scratch/body"
holds "a long pause is marked" grep -q ">50 us pass</text>" "$svg"
holds "times stand on both sides" sh -c "[ \$(grep -c '>12.464</text>' '$svg') -eq 2 ]"
holds "there are colours for dark screens" grep -q 'prefers-color-scheme:dark' "$svg"

# ---- pages ----

{
	printf 'libdat trace 1\n0 emu0.ep1 create\n0 emu1.ep1 create\n'
	awk 'BEGIN { for (i = 1; i <= 1000; i++) {
		print i * 1000 " emu0.ep1 packet to=emu1.ep1 op=SEND_ONLY message=" i \
			" packet=0 bytes=1 psn=" i
	} }'
} > "$scratch/many.trace"
echo '# end lines=1002' >> "$scratch/many.trace"
awk '/packet/ {
		print $1 - 600 " emu0.ep1 post_send bytes=1 segments=1 " $6
	}
	!/^# end/' "$scratch/many.trace" > "$scratch/slow.trace"
# Names are repeated, also where packets are always in flight.
repeated() {
	(cd "$scratch" && "$datsim" show --svg slow.svg slow.trace) &&
		[ "$(grep -c "class='head'" "$scratch/slow-1.svg")" -ge 6 ]
}
holds "names are repeated on a page of 300 rows" repeated
holds "and nothing meets there" boxes "$scratch/slow-1.svg" 280
(cd "$scratch" && "$datsim" show --svg many.svg many.trace)
holds "nothing meets where packets are always in flight" boxes "$scratch/many-2.svg" 280
# A packet that left on the page before comes from above, and each page has room for it.
slanted() {
	awk -F"'" '
	/<path class=.arrow/ {
		split(substr($6, 2), at, /[ L]/)
		n++
		level += at[2] > at[4] - 5
		above += at[2] < 70
	}
	END {
		print n " arrows, " level " level, " above " from the head"
		exit !n || level || above
	}' "$1"
}
holds "a packet that left on the page before comes from above" slanted "$scratch/many-2.svg"
holds "1,000 rows are four pages" sh -c "ls $scratch/many-[1-4].svg && ! ls $scratch/many-5.svg"
holds "and an index that leads to each" sh -c "[ \$(grep -c \"<a href='many-[1-4].svg'>\" \
	$scratch/many.svg) -eq 4 ]"
sed '/ packet .* psn=302$/,$d' "$scratch/many.trace" > "$scratch/one.trace"
echo '# end lines=303' >> "$scratch/one.trace"
(cd "$scratch" && "$datsim" show --svg one.svg one.trace)
holds "which says 1 row, 1 packet" grep -q '>1 row, 1 packet<' "$scratch/one.svg"
all_once() {
	cat "$scratch"/many-?.svg | sed -n 's/.*>SEND #\([0-9]*\)<.*/\1/p' | sort -n \
		> "$scratch/seen"
	seq 1000 | cmp - "$scratch/seen"
}
holds "each packet is on one page" all_once
holds "all are XML" xmllint --noout "$scratch/many.svg" "$scratch/many-1.svg" "$scratch/many-4.svg"
{
	printf 'libdat trace 1\n0 emu0.ep1 create\n0 emu1.ep1 create\n'
	awk 'BEGIN { for (i = 1; i <= 30001; i++)
		print i * 10 " emu0.ep1 packet to=emu1.ep1 op=SEND_ONLY message=" i " packet=0"
	}'
	echo '# end lines=30003'
} > "$scratch/vast.trace"
left_out() {
	(cd "$scratch" && "$datsim" show --svg "$1.svg" "$1.trace" && ls "$1"-*.svg | wc -l &&
		grep -o '>later rows are left out[^<]*' "$1.svg")
}
vast() {
	left_out vast > "$scratch/left" && [ "$(head -1 "$scratch/left")" -eq 100 ] || return
	rm -f "$scratch"/vast*
	! left_out many
}
holds "there are 100 pages at most, and the index says so" vast
(cd "$scratch" && "$datsim" show --from 500 --until 510 --svg part.svg many.trace)
holds "a filter makes a picture of a part" sh -c \
	"[ \$(grep -c '>SEND #' $scratch/part.svg) -eq 11 ]"
long=$(printf 'x%.0s' 1 2 3 4 5 6 7 8 9 10)
long=$long$long$long$long$long$long$long
printf 'libdat trace 1\n5 emu0.ep1 state from=A to=%s\n' "$long" > "$scratch/long.trace"
holds "long labels are cut" \
	sh -c "\"$datsim\" show --svg $svg $scratch/long.trace && xmllint --noout $svg &&
	grep -q 'xxx…<title>.*$long</title></text>' $svg"
"$datsim" test --trace "$scratch/hard.trace" "$here/../scripts/srq/marks-limit-an-ep.dsim" > \
	/dev/null
"$datsim" show --svg "$svg" "$scratch/hard.trace"
holds "a hard watermark is in the legend" grep -q '>a hard mark</text>' "$svg"
printf '%s\n' 'use connected a@emu0 b@emu1 srq=S max=4' 'b: dat_ep_set_watermark(ep, INFINITE, 0)' \
	'end quiet' > "$scratch/zero.dsim"
"$datsim" test --trace "$scratch/zero.trace" "$scratch/zero.dsim" > "$scratch/zero.out"
"$datsim" show --svg "$scratch/zero.svg" "$scratch/zero.trace"
holds "so is one of 0" grep -q '>a hard mark</text>' "$scratch/zero.svg"
holds "a failure is red at the EP that found it" \
	grep -q "class='label wrong.*>fails #3: OVER_LIMIT</text>" "$svg"
printf 'libdat trace 1\n0 - note script begins\n1000 emu0.ep1 create\n5000 - note half past\n' \
	> "$scratch/note.trace"
printf '9000 emu0.ep1 free\n9000 - note script ends\n' >> "$scratch/note.trace"
holds "a note is drawn" \
	sh -c "\"$datsim\" show --svg $svg $scratch/note.trace && grep -q 'half past' $svg"
holds "and its time is not, where nothing happens" sh -c "! grep -q '>5.000</text>' $svg"

# '#' begins a fragment of a URL, '%' a byte, and "b:" would be a scheme.
linked() {
	(cd "$scratch" && "$datsim" show --svg 'b:50%#?.svg' many.trace) &&
		[ -f "$scratch/b:50%#?-1.svg" ] &&
		grep -oF "<a href='b%3A50%25%23%3F-1.svg'>" "$scratch/b:50%#?.svg"
}
holds "links to pages whose names have other meanings in a URL" linked
# wide FILE CLASS WIDTH ANCHOR: each text of a class fits the drawing, if a character is so wide
wide() {
	awk -F"'" -v class="$2" -v each="$3" -v end="$4" '
	/<svg / { width = $4 }
	$0 ~ "class=." class { for (i = 1; i < NF; i++) {
		if ($i !~ "class=$" || $(i + 1) != class)
			continue
		split($(i + 6), words, /[<>]/)
		long = each * length(words[2])
		left = end ? $(i + 3) - long : $(i + 3)
		print words[2] ": from " left " to " left + long " of " width
		n++
		bad += left < 0 || left + long > width
	} }
	END { exit !n || bad }' "$1"
}
printf 'libdat trace 1\n0 emu0.ia1 create\n' > "$scratch/$long.trace"
"$datsim" show --svg "$svg" "$scratch/$long.trace"
holds "a drawing without lifelines is as wide as its title" wide "$svg" title 7.9
{
	printf 'libdat trace 1\n0 emu0.ep1 create\n0 emu1.srq1 create max=4 available=0 low=0\n'
	printf '3600000000000 emu0.ep1 free\n3600000000000 emu1.srq1 free\n'
} > "$scratch/hour.trace"
"$datsim" show --all --svg "$svg" "$scratch/hour.trace"
holds "times of hours fit the margin" wide "$svg" time 6.02 end
holds "so does a pause of an hour" wide "$svg" gaptext 5.42 end
holds "which is told in seconds" grep -q '>3600 s pass</text>' "$svg"
