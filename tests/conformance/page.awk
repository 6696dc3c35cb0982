# Writes doc/conformance.md from the tables and the results of the backends. Errors in the tables go
# to the file `problems`: KIND <tab> WHAT.
#
# awk -v problems=FILE -f page.awk backend=emulator RESULTS backend=rxe RESULTS ... table=codes
# codes.tsv table=clauses ...
BEGIN { FS = "\t" }

# An assignment between two files names the contents of the next file.
FNR == 1 && backend != seen_backend {
	seen_backend = backend
	backends[++backend_count] = backend
}
table == "" {
	result[backend, $1] = $2
	if (backend == backends[1])
		known[$1] = 1
	next
}
/^#/ || NF == 0 { next }
table == "codes" { code_row(); next }
table == "pages" { title[$1] = $2; next }
table == "clauses" { clause_row(); next }

function problem(kind, what) { print kind "\t" what > problems }

# The verdict of a device on tests 1..n of `list`, over the tests that can run on it
function on_device(backend, list, n,    i, r, found) {
	found = "not run"
	for (i = 1; i <= n; i++) {
		r = result[backend, list[i]]
		if (r == "deviates")
			return "deviates"
		if (r == "ok")
			found = "shown"
	}
	return found
}

# The verdict of one backend on tests 1..n of `list`
function verdict(backend, list, n,    i, r, worst) {
	if (backend != backends[1])
		return on_device(backend, list, n)
	worst = "shown"
	for (i = 1; i <= n; i++) {
		r = result[backend, list[i]]
		if (r == "not ok")
			return "**no**"
		if (r != "ok")
			worst = "not run"
	}
	return worst
}

function verdicts(list, n,    b, text) {
	for (b = 1; b <= backend_count; b++)
		text = text (b > 1 ? ", " : "") backends[b] " " verdict(backends[b], list, n)
	return "*" text "*"
}

# An item of a list, wrapped at 100 columns
function item(text,    word, n, i, line) {
	n = split(text, word, / +/)
	line = "-"
	for (i = 1; i <= n; i++) {
		if (length(line) + 1 + length(word[i]) > 100) {
			print line
			line = " "
		}
		line = line " " word[i]
	}
	print line
}

# ---- clauses: id, page, clause, rulings, tests or "none: why" ----

function clause_row(    list, n, i, shown) {
	if (NF != 5)
		problem("form", FILENAME ":" FNR ": " NF " columns, not 5")
	if ($2 != page) {
		page = $2
		print ""
		print "## " (page in title ? title[page] : page)
		print ""
	}
	if ($1 in ids)
		problem("form", "clause " $1 " is there twice")
	ids[$1] = 1
	clauses++
	if ($5 ~ /^none: /) {
		item("**" $1 "** " $3 ($4 == "" ? "" : " (" $4 ")") " No test: " substr($5, 7) ".")
		without++
		return
	}
	n = split($5, list, " ")
	if (!n)
		problem("empty", $1)
	for (i = 1; i <= n; i++) {
		shown = shown (i > 1 ? ", " : "") "`" list[i] "`"
		if (!(list[i] in known))
			problem("unknown", $1 ": " list[i])
		else if (result[backends[1], list[i]] != "ok")
			problem("failed", $1 ": " list[i])
	}
	item("**" $1 "** " $3 ($4 == "" ? "" : " (" $4 ")") " " verdicts(list, n) ": " shown)
}

# ---- codes: call, code, by, when, "-" or why not ----

function sweep_index(    name, part) {
	for (name in known)
		if (split(name, part, "/") == 3 && part[2] ~ /^DAT_/) {
			rows[part[1], part[2]] = rows[part[1], part[2]] " " name
			swept[name] = part[1] SUBSEP part[2]
		}
	indexed = 1
}

# Sorts list[1..n], so that the page does not depend on the order of the results.
function sort_names(list, n,    i, j, x) {
	for (i = 2; i <= n; i++) {
		x = list[i]
		for (j = i - 1; j > 0 && list[j] > x; j--)
			list[j + 1] = list[j]
		list[j + 1] = x
	}
}

function code_row(    list, n, i, how, shown) {
	if (!indexed) {
		sweep_index()
		print "## Return codes"
		print ""
		print "Every code that a page, the header or a ruling names, of every call, " \
			"and the cases that\nprovoke it."
	}
	if (NF != 5)
		problem("form", FILENAME ":" FNR ": " NF " columns, not 5")
	documented[$1, $2] = 1
	codes++
	n = split(substr(rows[$1, $2], 2), list, " ")
	sort_names(list, n)
	if ($5 == "-" && !n)
		problem("silent", $1 ": " $2)
	if ($5 != "-" && n)
		problem("stale",
			$1 ": " $2 " is provoked, and yet a reason says that it is not: " $5)
	for (i = 1; i <= n; i++) {
		how = list[i]
		sub(/^.*\//, "", how)
		gsub(/_/, " ", how)
		shown = shown (i > 1 ? "; " : "") how
		if (result[backends[1], list[i]] != "ok")
			problem("failed", list[i])
	}
	if ($1 != last_call)
		printf "\n**%s**\n\n", $1
	last_call = $1
	if (n)
		shown = verdicts(list, n) ": " shown
	else {
		shown = "Not provoked: " $5
		unprovoked++
	}
	item("`" $2 "` (" $3 "): " $4 ". " shown)
}

END {
	for (name in swept)
		if (!(swept[name] in documented))
			problem("undocumented", name)
	printf "\n---\n%d clauses, %d of them with no test; ", clauses, without
	printf "%d return codes, %d of them not provoked.\n", codes, unprovoked
}
