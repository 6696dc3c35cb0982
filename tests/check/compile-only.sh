#!/bin/sh
# compile-only.sh LIBTOOL-ARGS...: stands in for libtool in a build that only wants the warnings of
# its compiler: objects are compiled once, and nothing is linked.
while [ $# -gt 0 ]; do
	case $1 in
	--mode=link) exit 0 ;;
	--mode=compile) shift && exec "$@" ;;
	esac
	shift
done
echo "compile-only.sh: expected --mode=compile or --mode=link" >&2
exit 2
