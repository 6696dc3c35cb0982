# Sum up Automake's .trs files: prints PASSED FAILED SKIPPED.
#
# An expected failure counts as a pass, an unexpected pass as a failure. A program with a failing
# test also exits with a nonzero status, for which the TAP driver adds an ERROR; it is not counted
# again. An ERROR without a failing test (a crash, a missing plan) is a failure.
function close_file() {
	failed += bad ? bad + (errors ? errors - 1 : 0) : errors
	bad = errors = 0
}
FNR == 1 { close_file() }
/^:test-result: (PASS|XFAIL)/ { passed++ }
/^:test-result: (FAIL|XPASS)/ { bad++ }
/^:test-result: ERROR/ { errors++ }
/^:test-result: SKIP/ { skipped++ }
END {
	close_file()
	print passed + 0, failed + 0, skipped + 0
}
