#!/bin/sh
# The story of a verbs client and server that wait for each other: demo-pair.sh BUILD_DIR [DIR].
# Its files go to DIR. ./demo pair builds and calls this.
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:?usage: demo-pair.sh BUILD_DIR [DIR]}" && pwd) || exit 1
bug=$build/tests/planted/pairs/wakeup
PATH=$build/tools/datsim:$PATH
for program in "$build/tools/datsim/datsim" "$bug" "$bug-fixed"; do
	if [ ! -x "$program" ]; then
		echo "demo-pair.sh: there is no $program" >&2
		exit 1
	fi
done
mkdir -p "${2:-$build/pair}" && cd "${2:-$build/pair}" || exit 1
rm -f found.*

# wraps INDENT LINE: in rows of 80 columns
wraps() { echo "$2" | fold -s -w $((78 - ${#1})) | sed "2,\$s/^/$1/"; }

# shows COMMAND...: what a reader would type, then its output without the build's path
shows() {
	echo
	wraps '    ' "\$ $(echo "$*" | sed "s|$build/tests/planted/pairs/||g")" | sed '$!s/$/\\/'
	COLUMNS=80 "$@" > said 2>&1
	status=$?
	sed "s|$build/tests/planted/pairs/||g" said | while IFS= read -r line; do
		case $line in
		'  events'*) wraps '             ' "$line" ;;
		'server + client: '*) wraps '    ' "$line" ;;
		'replay: '*) wraps '          ' "$line" | sed '$!s/$/\\/' ;;
		*) printf '%s\n' "$line" ;;
		esac
	done
	return $status
}

cat << 'END'

Two programs of librdmacm: a server that sleeps on its completion channel, and a
client. They are linked as for a device, and run here on a simulated one, in
virtual time, without root.
END
shows datsim run --lockstep --quiet -- --node server "$bug" serve + --node client "$bug" ask ||
	exit
echo "(both end well)"
echo 'fault link client>server loss 5%' > loss.dsim
shows datsim run --lockstep --script loss.dsim -- --node server "$bug" serve + \
	--node client "$bug" ask
cat << 'END'

They survive lost packets, too. Now all orders in which the two may run, few
changes first:
END
shows datsim explore --lockstep --faults turns --out found.dsim -- --node server "$bug" serve + \
	--node client "$bug" ask
[ -s found.dsim ] || {
	echo "demo-pair.sh: expected that explore finds the bug" >&2
	exit 1
}
cat << 'END'

The server looks at its queue, finds nothing, arms the channel and sleeps. A
message that comes between the look and the arming does not wake it. The mended
server looks again after it has armed the channel:
END
shows datsim explore --lockstep --faults turns --runs 200 -- --node server "$bug-fixed" serve + \
	--node client "$bug-fixed" ask || exit
datsim show --svg found.svg found.trace 2> said || cat said
echo
echo "The picture of the failing run: $(pwd)/found.svg"
echo "The programs: $here/tests/planted/pairs/wakeup.c"
