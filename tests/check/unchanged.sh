# shellcheck shell=bash
# Sourced by ./check: results that are still true.
#
# A stage of tests is not run again while all that its tests depend on is as it was when they last
# ran and passed: each file of the source tree and of the build, the environment, the installed
# packages, the user, the processors, and the kernel since it was booted. Its numbers are then those
# of that run, and a line below them says so. --again runs it in any case, and so does --full. What
# else the machine has, such as devices and settings of the kernel, is not looked at.

# fingerprint STAGE BUILD WORD...: a hash of all that the tests in a build depend on, and of the
# words. A file counts as changed when its time of change is another one, whatever is in it. What
# tests leave in a build are logs, and folders named "work", and stage distcheck a release. Of the
# stages whose results are kept, "tests" alone has the rules of the house, one of which reads the
# messages of commits.
fingerprint() {
	local stage=$1 dir=$2
	shift 2
	{
		echo "$*"
		[ "$stage" != tests ] ||
			git rev-parse HEAD --is-shallow-repository 2> /dev/null
		find . \( -path ./build -o -path ./.git \) -prune -o \
			-type f -printf '%p %s %m %C@\n' | sort
		find "$dir" -type f ! -name '*.log' ! -name '*.trs' ! -path '*/work/*' \
			! -name 'libdat-*.tar.gz' -printf '%p %s %m %C@\n' | sort
		env -u _ -u SHLVL -u OLDPWD | sort
		stat -c '%n %s %Z' /var/lib/dpkg/status /etc/ld.so.cache /etc/hosts 2> /dev/null
		cat /proc/sys/kernel/random/boot_id
		uname -a
		nproc
		id
		ulimit -a
	} | sha256sum
}

# still_true STAGE FINGERPRINT: takes over the numbers of the last run, or forgets them and returns
# 1: the stage runs now, and if it does not pass, an earlier result must not come back.
still_true() {
	# shellcheck disable=SC2154 # report.sh sets it
	local kept=$log/kept/$1
	if [ -n "$fresh" ] || [ ! -f "$kept" ] || [ "$(head -n 1 "$kept")" != "$2" ]; then
		rm -f "$kept"
		return 1
	fi
	sed -n 2p "$kept" > "$log/$1.counts"
	sed 1,2d "$kept" > "$log/$1.note"
	echo "these ran $(date -r "$kept" '+on %e %B at %H:%M' | tr -s ' '), and nothing has" \
		"changed since; --again runs them again" >> "$log/$1.note"
}

# keep_result STAGE FINGERPRINT: remembers a stage that passed
keep_result() {
	local kept=$log/kept/$1
	mkdir -p "$log/kept"
	touch "$log/$1.note" # most stages have nothing to say
	{ echo "$2" && cat "$log/$1.counts" "$log/$1.note"; } > "$kept.new" &&
		mv "$kept.new" "$kept"
}
