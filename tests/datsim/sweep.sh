#!/bin/sh
# datsim sweep: over all scripts of tests/scripts, each site once and a share of the other points;
# and it finds planted errors. SHARE (percent) in the environment makes it longer; ./check --full
# sweeps all. EVERY=2: every second script only.
. "$(dirname "$0")/begin.sh"
scripts=$here/../scripts
share=${SHARE:-1}
cd "$scratch" || exit 99
# The script that fills every table of the adapter has a hundred thousand slow points: only each
# site is swept, and with --full one point in a hundred.
find "$scripts" -name '*.dsim' ! -name limits.dsim | sort |
	awk -v every="${EVERY:-1}" 'NR % every == 0' > list

# sweeps KIND...: the sweep passes
sweeps() {
	# shellcheck disable=SC2046
	"$datsim" sweep --nth "$@" --share "$share" $(cat list) > swept 2>&1
	code=$?
	n=$((n + 1))
	echo "# $*: $(tail -n 1 swept)"
	if [ $code -eq 0 ]; then
		echo "ok $n - sweep $*"
	else
		echo "not ok $n - sweep $*: exit status $code"
		grep -A 30 '^not ok' swept | sed 's/^/#   /' | head -n 100
	fi
}

cat > good.dsim << 'END'
use connected a@emu0 b@emu1
       b: dat_ep_post_recv(ep, 64) x2
       a: dat_ep_post_send(ep, 64)
*      b: event recv DTO_COMPLETION length=64
end    quiet
END
cat > fails.dsim << 'END'
use connected a@emu0 b@emu1
       b: dat_ep_post_recv(ep, 64) = DAT_INVALID_STATE
END
# The request that the script names is never answered, and the held message is never released: sweep
# cleans up both.
cat > open.dsim << 'END'
use connected a@emu0 b@emu1
       hold a.ep message 1
       b: dat_ep_post_recv(ep, 64)
       a: dat_ep_post_send(ep, 64)
END

# Two sites, with twelve points each
cat > many.dsim << 'END'
use connected a@emu0 b@emu1
       b: dat_ep_post_recv(ep, 64) x12
       a: dat_ep_post_send(ep, 64) x12
end    quiet
END

# Without its Receive the Send is repeated for longer than the sweep waits.
mkdir "it's"
cat > "it's/#1.dsim" << 'END'
fabric rnr_retry=6 rnr_timer=20s
use connected a@emu0 b@emu1
       b: dat_ep_post_recv(ep, 64)
       a: dat_ep_post_send(ep, 64)
*      b: event recv DTO_COMPLETION length=64
end    quiet
END

# repeats FILE: the replay line of a sweep's report finds the same again
repeats() {
	sed -n 's/^# replay:   datsim/"$datsim"/p' "$1" > replay.sh
	cat replay.sh
	. ./replay.sh > again 2>&1
	[ $? -eq 3 ] && diff "$1" again
}

echo 'use adapter' > bad.dsim
: > empty.dsim

# With a clock that runs too fast, the first point takes too long. The runtime of AddressSanitizer,
# where the tool has one, insists on being the first library.
hangs() {
	hurry=$top/tests/datsim/.libs/hurry.so
	runtime=$(ldd "$hurry" | awk '$1 ~ /^lib(clang_rt\.)?[at]san[-.]/ { print $3 }')
	LD_PRELOAD="$runtime $hurry" "$datsim" sweep --nth post good.dsim
}

echo 1..34
sweeps alloc
sweeps alloc --persistent
sweeps post
sweeps post --persistent
sweeps event
sweeps event --persistent
expect 0 '^ok 1 - good.dsim: 3 of 3 points' sweep --nth post good.dsim
expect 0 '^# 1 of 3 points, all 2 sites' sweep --nth post --only 3 good.dsim
expect 2 '^ok 1 - good.dsim: 0 of 3 points # SKIP there is no point 4$' sweep --nth post --only 4 \
	good.dsim
expect 2 'sweep: --only 4: no script has so many points' sweep --nth post --only 4 good.dsim
expect 0 '^ok 1 - open.dsim: 2 of 2 points' sweep --nth post --persistent open.dsim
expect 0 '^ok 1 - many.dsim: 2 of 24 points' sweep --nth post --share 0 many.dsim
expect 0 '^ok 1 - many.dsim: 13 of 24 points' sweep --nth post --share 50 many.dsim
expect 0 '^ok 1 - many.dsim: 10 of 24 points' sweep --nth post --share 50 --seed 3 many.dsim
expect 0 '^ok 1 - good.dsim: 1 of 6[0-9] points' sweep --nth alloc --only 7 good.dsim
expect 3 '^not ok 1 - fails.dsim: 0 of 0 points' sweep --nth post fails.dsim
expect 3 'fails.dsim:2: dat_ep_post_recv returned something else' sweep --nth post fails.dsim
expect 2 'expected --nth' sweep good.dsim
expect 2 'nth wants alloc, post or event, got .nothing.' sweep --nth nothing good.dsim
expect 2 'share wants a whole number from 0 to 100, got .101.' sweep --nth post --share 101 \
	good.dsim
expect 2 'only wants a whole number from 1 to [0-9]+, got .0.' sweep --nth post --only 0 good.dsim
expect 2 'expected a script' sweep --nth post
expect 2 'nonesuch.dsim: No such file' sweep --nth post nonesuch.dsim
expect 2 'bad.dsim:1:12: expected an actor' sweep --nth post good.dsim bad.dsim
expect 2 '^not ok 2 - empty.dsim' sweep --nth post good.dsim empty.dsim
expect 3 '^not ok 1 - bad.dsim' sweep --nth post bad.dsim fails.dsim bad.dsim
part=$((share / 100))
expect 0 '^ok 1 - ' sweep --nth alloc --share $part "$scripts/adapter/limits.dsim"
expect 0 '^ok 1 - ' sweep --nth alloc --persistent --share $part "$scripts/adapter/limits.dsim"
expect 0 '^1\.\.1$' sweep --nth post good.dsim
expect 3 "^not ok 1 - it's/\?1.dsim: 1 of 2 points" sweep --nth post "it's/#1.dsim"
mv out busy
holds "the report of a point says how to repeat it" repeats busy
export DATSIM_SEED=4
expect 3 '^# replay:   DATSIM_SEED=4 datsim sweep --nth post --only 1 ' sweep --nth post \
	"it's/#1.dsim"
unset DATSIM_SEED
hangs > out 2>&1
holds "a point that takes too long is told" grep -q 'good.dsim: point 1 hangs (signal 14)' out
holds "and the script is not ok" grep -q '^not ok 1 - good.dsim: 0 of 0 points' out
