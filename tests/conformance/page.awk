# doc/conformance.md, from the tables and the results of the backends. What is wrong with the tables
# goes to the file `problems`: KIND <tab> WHAT.
#
# awk -v problems=FILE -f page.awk backend=emulator RESULTS backend=rxe RESULTS ... table=codes codes.tsv table=clauses ...
BEGIN { FS = "\t" }

# An assignment between the files says what the next one is.
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

# The verdict of a device on tests 1..n of `list`: of those that can run there
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

function verdicts(list, n, reason,    b, text) {
	for (b = 1; b <= backend_count; b++)
		text = text " " (n ? verdict(backends[b], list, n) : "-") " |"
	return text
}

function header(first, dashes,    b) {
	printf "%s", first
	for (b = 1; b <= backend_count; b++)
		printf " %s |", backends[b]
	printf "\n%s", dashes
	for (b = 1; b <= backend_count; b++)
		printf "---|"
	print ""
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
		header("| | clause | ruling | shown by |", "|---|---|---|---|")
	}
	if ($1 in ids)
		problem("form", "clause " $1 " is there twice")
	ids[$1] = 1
	clauses++
	if ($5 ~ /^none: /) {
		printf "| %s | %s | %s | nothing: %s |%s\n", $1, $3, $4, substr($5, 7), verdicts(list, 0)
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
	printf "| %s | %s | %s | %s |%s\n", $1, $3, $4, shown, verdicts(list, n)
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
		print "Every code that a page, the header or a ruling names, of every call."
		print ""
		header("| call | code | by | when | provoked |", "|---|---|---|---|---|")
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
		problem("stale", $1 ": " $2 " is provoked, and yet a reason says that it is not: " $5)
	for (i = 1; i <= n; i++) {
		how = list[i]
		sub(/^.*\//, "", how)
		gsub(/_/, " ", how)
		shown = shown (i > 1 ? "; " : "") how
		if (result[backends[1], list[i]] != "ok")
			problem("failed", list[i])
	}
	if (!n) {
		shown = "not: " $5
		unprovoked++
	}
	printf "| %s | %s | %s | %s | %s |%s\n", $1 == last_call ? "" : $1, $2, $3, $4, shown,
		verdicts(list, n)
	last_call = $1
}

END {
	for (name in swept)
		if (!(swept[name] in documented))
			problem("undocumented", name)
	printf "\n---\n%d clauses, %d of them with no test; %d return codes, %d of them not provoked.\n", \
		clauses, without, codes, unprovoked
}
