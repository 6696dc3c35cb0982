# shellcheck shell=bash
# Sourced by ./check and the house test of the map: which tests belong to a subject.
#
# A subject is a folder of tests/ (srq, connect, walk) or a word of a test's name (cno, lw). Its
# tests are those in folders of that name and those with that word in their names, and the sweep if
# sweep/ has a table of that name. The list below has tests of a subject that have other names.
declare -A also=(
	[adapter]="sweep/test_sweep"
	[cno]="random/test_programs"
	[connect]="random/test_programs"
	[dto]="random/test_programs unit/transport/test_no_buffer scripts/ep/messages.dsim"
	[ep]="random/test_programs scripts/watermark walk/test_walk_loss"
	[evd]="random/test_programs"
	[fault]="scripts/fault unit/transport"
	[handles]="scripts/hostile sweep/test_calls"
	[memory]="random/test_programs scripts/rdma/bind.dsim sweep/test_sweep"
	[rdma]="random/test_programs"
	[srq]="random/test_programs scripts/watermark unit/transport/test_no_buffer walk/test_model
		walk/test_walk_loss"
	[transport]="scripts/fault unit/connect/test_lost_connections unit/rdma/test_rdma_lost
		walk/test_walk_loss"
	[watermark]="unit/ep/test_ep_hard_mark unit/srq/test_srq_lw walk/test_model
		walk/test_walk_ep walk/test_walk_srq"
)

fragments() {
	find tests -name Makefile.inc.am | sort
}

# Prints every test of the tree, one a line, by its name in make.
tests_all() {
	# shellcheck disable=SC2046
	awk '
		FNR == 1 { folder = FILENAME; sub(/\/[^\/]*$/, "", folder); on = 0 }
		/^(c|sh|dsim)_tests \+=/ { on = 1 }
		on {
			for (i = 1; i <= NF; i++)
				if (sub(/^%D%\//, "", $i))
					print folder "/" $i
			on = /\\$/
		}' $(fragments) | sort
}

# Prints the folders that have tests: the subjects to choose from.
subjects() {
	tests_all | awk -F / '{ for (i = 2; i < NF; i++) print $i }' | sort -u
}

# tests_of SUBJECT: prints its tests; the name of a single test (test_srq_lw,
# tests/unit/srq/test_srq_lw) is a subject too.
tests_of() {
	local table=
	[ ! -f "tests/sweep/$1.c" ] || table=sweep/test_sweep
	tests_all | awk -v subject="$1" -v also="${also[$1]:-} $table" '
		BEGIN { n = split(also, entry, /[ \t\n]+/) }
		function belongs(    parts, part, words, word, i) {
			if ($0 == subject)
				return 1
			parts = split($0, part, "/")
			for (i = 2; i < parts; i++)
				if (part[i] == subject)
					return 1
			if (part[parts] == subject)
				return 1
			sub(/\.(sh|dsim)$/, "", part[parts])
			if (part[parts] == subject)
				return 1
			words = split(part[parts], word, /[-_]/)
			for (i = 1; i <= words; i++)
				if (word[i] == subject)
					return 1
			for (i = 1; i <= n; i++)
				if (entry[i] && \
					index($0 "/", "tests/" entry[i] "/") == 1)
					return 1
		}
		belongs()'
}
