# Writes the fenced blocks of a Markdown file, in order, to files NNN.KIND in the folder `to`:
#
#   ```dsim first.dsim       a file: .file has its name, .body its contents
#   ```console               commands after "$ ", each with its output: .cmd and .expected. A
#                            here-document belongs to its command. .needs has a second word, if any
#   ```text                  nothing to run
#
# With -v write=1 it prints the Markdown file, with the outputs of the last run (.got).
function open_step() {
	base = sprintf("%s/%03d", to, ++n)
	print FNR > (base ".line")
	close(base ".line")
}

function put(kind, line) {
	print line > (base kind)
}

function end_step(    line) {
	if (!in_step)
		return
	close(base ".cmd")
	close(base ".expected")
	if (write)
		while ((getline line < (base ".got")) > 0)
			print line
	in_step = 0
}

/^```/ && !inside {
	inside = 1
	kind = substr($1, 4)
	name = $2
	if (kind != "console" && kind != "text") {
		if (name == "")
			print FILENAME ":" FNR ": expected ```console, ```text or a file name" \
				> (to "/problems")
		open_step()
		put(".file", name)
		printf "" > (base ".body")
	}
	if (write)
		print
	next
}

/^```/ {
	end_step()
	inside = 0
	close(base ".body")
	if (write)
		print
	next
}

inside && kind == "console" && heredoc != "" {
	put(".cmd", $0)
	if ($0 == heredoc)
		heredoc = ""
	if (write)
		print
	next
}

inside && kind == "console" && /^\$ / {
	end_step()
	open_step()
	in_step = 1
	put(".cmd", substr($0, 3))
	printf "" > (base ".expected")
	if (name != "")
		put(".needs", name)
	if (match($0, /<< *[A-Z]+$/)) {
		heredoc = substr($0, RSTART + 2)
		sub(/^ */, "", heredoc)
	}
	if (write)
		print
	next
}

inside && kind == "console" { put(".expected", $0); next }
inside && kind != "text" { put(".body", $0) }
write
