#!/bin/sh
# Ruling Q6 on a fabric of several processes: a Send that is posted while an earlier one is in RNR
# wait completes, whichever process runs the timer, whichever can reach another's memory, and also
# if the process that runs the timer is killed meanwhile. CROWDS: so many crowds, each way; STRIDE:
# it is killed before one store in so many. ./check --full does more (campaign.sh).
. "$(dirname "$0")/../datsim/begin.sh"
overtake=$top/tests/processes/overtake
needs "$overtake"
bystander=$top/tests/processes/bystander
needs "$bystander"
crowd=$top/tests/processes/crowd
needs "$crowd"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

# crowds COPY ROUNDS [PIECES BYTES RECEIVES]
crowds() {
	DATSIM_COPY=$1
	export DATSIM_COPY
	shift
	for i in $(seq "${CROWDS:-1}"); do
		DATSIM_FABRIC=crowd timeout 600 "$crowd" 8 "$@" || return
	done
}

# The timer runs when the test says so, and not before (ends.h).
# passes SENDER RECEIVER THIRD: how each process copies payload
passes() {
	DATSIM_FABRIC=overtake DATSIM_RNR_RETRY=7 DATSIM_RNR_TIMER_NS=3600000000000 \
		timeout 600 "$overtake" "$@"
}

killed() {
	DATSIM_FABRIC=bystander DATSIM_RNR_RETRY=7 DATSIM_RNR_TIMER_NS=3600000000000 \
		"$bystander" "${STRIDE:-3}"
}

echo 1..13
for copy in direct bounce; do
	holds "Q6_all_Sends_of_8_processes_to_each_other_complete: $copy" crowds $copy 10
	holds "Q6_all_pieces_complete_of_which_few_Receives_are_posted_late: $copy" \
		crowds $copy 10 10 4000 2
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
holds_or_skips "Q6_a_request_in_RNR_wait_survives_the_process_that_runs_its_timer" killed
