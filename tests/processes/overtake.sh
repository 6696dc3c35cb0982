#!/bin/sh
# Ruling Q6 on a fabric of several processes: a Send that is posted while an earlier one is in RNR
# wait completes, whichever process runs the timer, and whichever can reach another's memory.
. "$(dirname "$0")/../datsim/begin.sh"
overtake=$top/tests/processes/overtake
needs "$overtake"
crowd=$top/tests/processes/crowd
needs "$crowd"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

# passes SENDER RECEIVER THIRD: how each process copies payload
passes() {
	DATSIM_FABRIC=overtake DATSIM_RNR_RETRY=7 DATSIM_RNR_TIMER_NS=200000000 \
		timeout 120 "$overtake" "$@"
}

echo 1..10
for copy in direct bounce; do
	holds "Q6_all_Sends_of_8_processes_to_each_other_complete: $copy" \
		env DATSIM_COPY=$copy DATSIM_FABRIC=crowd timeout 120 "$crowd" 8 20
done
title=Q6_a_request_behind_one_in_RNR_wait_is_not_overtaken
for sender in direct bounce; do
	for receiver in direct bounce; do
		for third in direct bounce; do
			holds "$title: $sender, $receiver, $third" \
				passes $sender $receiver $third
		done
	done
done
