#!/bin/sh
# A campaign in SHARDS shards by GNU parallel: as many at a time as there are processors, or on the
# machines that --sshloginfile names, which see the folder STORE too.
#
#	SHARDS=64 sh parallel.sh ./rpc both
#	sh parallel.sh --lockstep -- ./server + ./client 198.18.0.1
#
# PARALLEL has more options of parallel: PARALLEL='--jobs 4 --sshloginfile hosts --workdir .'.
# Run it once more after an interruption: each shard goes on where it was.
if [ $# = 0 ]; then
	echo "parallel.sh: expected a program, or options and a program" >&2
	exit 2
fi
case $1 in
-*) ;;
*) set -- -- "$@" ;;
esac
shards=${SHARDS:-16}
# A shard that found a failure exits with another status than 0, which is no reason to stop.
seq "$shards" | parallel --quote --will-cite --tagstring 'shard {}' \
	datsim explore --store "${STORE:-failures}" --resume --no-shrink --coverage \
	--runs "${RUNS:-10000}" --seed "${SEED:-1}" --shard "{}/$shards" "$@"
