# failing.awk: of a log of automake's TAP driver, the failed results, and beside each the messages
# that stand between it and its neighbours: a test may explain a failure before or after its
# result. At most NEAR lines on each side.
BEGIN { NEAR = 12 }

function show_last(    i)
{
	for (i = held > NEAR ? held - NEAR + 1 : 1; i <= held; i++)
		print message[i]
	held = 0
}

function show_first(    i)
{
	for (i = 1; i <= held && i <= NEAR; i++)
		print message[i]
	held = 0
}

# A message of a sanitizer or of valgrind may begin in the middle of a line of the driver.
/runtime error:|==[0-9]+==/ {
	message[++held] = $0
	next
}
/^((not )?ok |1\.\.[0-9]+$)/ { next } # the driver repeats results
/^(PASS|SKIP|XFAIL): / {
	if (failed)
		show_first()
	failed = held = 0
	next
}
/^(FAIL|XPASS|ERROR): / {
	show_last()
	print
	failed = 1
	next
}
{ message[++held] = $0 }
END {
	if (failed)
		show_first()
}
