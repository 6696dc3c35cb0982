# SPDX-License-Identifier: BSD-3-Clause
# Writes header_rows.h, the tables of test_headers.c:
#	awk -f gen_header_test.awk values.tsv layout.tsv absent.tsv > header_rows.h
# A name that the headers lack does not compile; an absent name that they have does not either.
BEGIN {
	FS = "\t"
	print "/* Made by gen_header_test.awk, not by hand. */"
}

function fail(why) {
	print FILENAME ":" FNR ": " why > "/dev/stderr"
	failed = 1
	exit 1
}

/^#/ || /^$/ { next }

FILENAME ~ /values\.tsv$/ {
	if (NF != 2)
		fail("want: name value")
	values = values "\tVALUE(" $1 ", " $2 "),\n"
	next
}

FILENAME ~ /layout\.tsv$/ {
	if (NF != 4)
		fail("want: type field offset size")
	if ($2 == "*")
		layout = layout "\tTYPE(" $1 ", " $4 "),\n"
	else
		layout = layout "\tFIELD(" $1 ", " $2 ", " $3 ", " $4 "),\n"
	next
}

FILENAME ~ /absent\.tsv$/ {
	if (NF != 1)
		fail("want: name")
	absent = absent "#ifdef " $1 "\n#error " $1 " is defined\n#endif\ntypedef char " $1 ";\n"
	next
}

{ fail("no table of this name is known") }

END {
	if (failed)
		exit 1
	if (values == "" || layout == "" || absent == "") {
		print "gen_header_test.awk: a table is missing" > "/dev/stderr"
		exit 1
	}
	print "\nstatic const struct value_row values[] = {\n" values "};"
	print "\nstatic const struct layout_row layout[] = {\n" layout "};"
	print "\n" absent
}
