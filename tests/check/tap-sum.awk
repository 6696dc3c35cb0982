# Sum up Automake's .trs files: prints PASSED FAILED SKIPPED.
#
# An expected failure is a pass, an unexpected pass a failure. A program that reports a failing test
# also exits with a status that is not 0, for which the TAP driver adds an ERROR: that is the same
# failure, not another one. An ERROR on its own (a crash, a missing plan) is a failure.
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
