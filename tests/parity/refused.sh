#!/bin/sh
# DAT_PROVIDER=hw where it cannot work: each reason has its own message, and nothing crashes.
datsim=$top_builddir/tools/datsim/datsim
module=$top_builddir/passthrough/.libs/passthrough.so
n=0

# says TITLE PATTERN COMMAND...
says() {
	n=$((n + 1))
	title=$1 pattern=$2
	shift 2
	text=$("$@" 2>&1)
	case $? in 13[0-9]) text="killed: $text" ;; esac
	if echo "$text" | grep -q "^libdat: DAT_PROVIDER=hw: .*$pattern"; then
		echo "ok $n - $title"
	else
		echo "not ok $n - $title"
		echo "$text" | sed 's/^/#   /'
	fi
}

info() { DAT_PROVIDER=hw DAT_HW_MODULE=$1 "$datsim" info; }

says "a module that is not there" 'cannot be loaded: /nonexistent.so: ' info /nonexistent.so
empty=$top_builddir/tests/provider/.libs/empty.so
if [ -f "$empty" ]; then
	says "a module of another kind" 'empty.so belongs to another version of libdat' \
		info "$empty"
fi
if [ -f "$module" ] && [ -z "$(ls /sys/class/infiniband 2> /dev/null)" ]; then
	says "no device" 'no verbs\|/sys/class/infiniband' info "$module"
fi
echo "1..$n"
