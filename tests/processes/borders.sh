#!/bin/sh
# What separates processes and users: keys, bounds and privileges between processes, both ways in
# which payload travels; names, files and folders of fabrics.
. "$(dirname "$0")/../datsim/begin.sh"
borders=$top/tests/processes/borders
gone=$top/tests/processes/gone
client=$top/examples/pair/client
server=$top/examples/pair/server
needs "$borders"
needs "$gone"
needs "$client"
needs "$server"
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

# reach COPY: one process reaches for another's memory
reach() {
	DATSIM_COPY=$1 DATSIM_FABRIC=borders timeout 600 "$borders"
}

# lose COPY: memory that one process registered and unmapped is used by both
lose() {
	DATSIM_COPY=$1 DATSIM_FABRIC=gone timeout 600 "$gone"
}

# refused NAME WHY: a program cannot join the fabric of that name
refused() {
	! DATSIM_FABRIC=$1 timeout 600 "$client" localhost 1 2> said && grep -q "$2" said
}

# small SIZE COMMAND...: runs it with a file system of that size for it alone
small() {
	size=$1
	shift
	# shellcheck disable=SC2016
	unshare -rm sh -c 'mount -t tmpfs -o mode=700,size="$1" tmpfs "$2" && shift 2 && "$@"' - \
		"$size" "$scratch/small" "$@"
}

# no_room: the file system is too small for a fabric, and the error says so
no_room() {
	! XDG_RUNTIME_DIR=$scratch/small small 900k "$datsim" fabric create mine 2> said &&
		grep -q 'No space left' said
}

# little_room: there is room for a fabric, but not for its objects: programs get an error that says
# so, and none is killed by a signal
little_room() {
	# shellcheck disable=SC2016
	DATSIM_FABRIC=mine XDG_RUNTIME_DIR=$scratch/small small 2m sh -c '"$1" fabric create mine
		head -c 16000000 /dev/zero > "$XDG_RUNTIME_DIR/fill"
		"$2"
		[ $? = 1 ]' - "$datsim" "$server"
}

echo 1..17
holds "memory is reached by key, within bounds, with privilege" reach direct
holds "so it is where payload goes through the arena" reach bounce
holds "memory that is gone ends the connection, and nothing else" lose direct
holds "so it does where payload goes through the arena" lose bounce
holds "a fabric can be made" "$datsim" fabric create mine
holds "its file is its user's alone" [ "$(stat -c %a datsim/mine)" = 600 ]
holds "so is the folder" [ "$(stat -c %a datsim)" = 700 ]
ln -s mine datsim/link
holds "a link is refused" refused link 'symbolic links'
rm datsim/link
chmod 640 datsim/mine
holds "a file that others may read is refused" refused mine 'no other may open'
chmod 600 datsim/mine
if [ "$(id -u)" = 0 ] && chown 1 datsim/mine 2> noise; then
	holds "another user's is refused" refused mine "of this user's"
	chown 0 datsim/mine
else
	n=$((n + 1))
	echo "ok $n - another user's is refused # SKIP only root can give a file away"
fi
truncate -s 1000 datsim/mine
holds "a file that was cut off is refused" refused mine 'this is none'
rm datsim/mine
for name in .hidden 'a b' "$(printf '%049d' 1)"; do
	holds "no fabric is called \"$name\"" refused "$name" 'cannot be called'
done
mkdir small
if small 1m true 2> noise; then
	holds "a file system without room for a fabric" no_room
	holds "one without room for what is done on it" little_room
else
	echo "ok $((n + 1)) # SKIP no file system of one's own: $(tail -n 1 noise)"
	echo "ok $((n + 2)) # SKIP no file system of one's own"
	n=$((n + 2))
fi
holds "nothing is left" [ -z "$(ls -A datsim)" ]
