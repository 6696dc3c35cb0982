#!/bin/sh
# libfabric's provider verbs, by the programs of its package.
. "$(dirname "$0")/begin.sh"
needs librdmacm libfabric-bin fi_info fi_pingpong
# rxm looks at connections between two looks at completions if this time has passed. If the peer
# has closed its end by then, completions of it that were not looked at are lost, and the program
# waits for them: on a busy machine.
export FI_OFI_RXM_CM_PROGRESS_INTERVAL=5000000

# ends TITLE ROWS PROVIDER TYPE: both print a row for each size
ends() {
	next_port
	prints "$1" "$2" '^[0-9]+[km]? +10 +=10 ' \
		"$datsim" run -- fi_pingpong -p "$3" -e "$4" -B $port + \
		fi_pingpong -p "$3" -e "$4" -P $port localhost
}

echo 1..4
prints "fi_info finds endpoints for messages and datagrams" 2 'FI_EP_(MSG|DGRAM)$' \
	"$datsim" run --quiet -- fi_info -p verbs
ends "messages, over RC and librdmacm" 12 verbs msg
ends "reliable datagrams, over the same" 12 'verbs;ofi_rxm' rdm
ends "datagrams, over UD" 8 verbs dgram
