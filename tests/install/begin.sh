# shellcheck shell=bash
# Sourced by the scripts of this folder that run in a fresh Debian.
#
#   $here $work    the source tree; a folder that is removed at the end
#   holds WHAT COMMAND...   passes if the command succeeds; shows the end of its output if it fails
# shellcheck disable=SC2034 # for those that source this
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d /var/tmp/libdat-install.XXXXXX) || exit 99
chmod 755 "$work" # another user looks into it
trap 'rm -rf "$work"' EXIT
n=0
holds() {
	local what=$1
	shift
	n=$((n + 1))
	if "$@" > "$work/said" 2>&1 < /dev/null; then
		echo "ok $n - $what"
		return 0
	fi
	echo "not ok $n - $what"
	tail -n 40 "$work/said" | sed 's/^/#   /'
	return 1
}
