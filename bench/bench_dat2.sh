#!/bin/sh
# bench_dat2.sh PROGRAM: compiles bench_dat2, the job of bench_message over Debian's DAPL 2.1.10. If
# that is not possible, it prints the reason and exits with 77.
source=$(cd "$(dirname "$0")" && pwd)
if [ ! -e /usr/include/dat2/udat.h ]; then
	echo "libdapl-dev is not installed"
	exit 77
fi
said=$(${CC:-cc} -O2 -D_GNU_SOURCE -DBENCH_DAT2 -iquote "$source" \
	"$source/library.c" "$source/bench_dat2.c" -o "$1" -ldat2 2>&1) && exit
echo "it cannot be compiled: $(echo "$said" | head -n 1)"
exit 77
