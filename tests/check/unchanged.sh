# shellcheck shell=bash
# Sourced by ./check: results that are still true.
#
# ./check does not repeat a stage of tests if nothing that they depend on has changed since they
# passed: the files of the source tree and of the build, the environment, the installed packages,
# the user, the number of processors, and the boot of the machine. It counts the numbers of the
# earlier run and prints a line that says so. --again and --full repeat the stage in any case.
# Devices and settings of the kernel are not compared.

# fingerprint STAGE BUILD WORD...: a hash of all that the tests in a build depend on, and of the
# words. A file has changed when its ctime has. Logs, folders named "work" and the release that
# stage distcheck makes are left out: tests write them. Only stage "tests" depends on the commit,
# because a rule of the house reads the messages of commits.
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

# still_true STAGE FINGERPRINT: takes over the numbers of the last run. If they are not true now, it
# forgets them and returns 1: should the run that follows fail, they must not come back.
still_true() {
	# shellcheck disable=SC2154 # report.sh sets it
	local kept=$log/kept/$1
	if [ -n "$fresh" ] || [ ! -f "$kept" ] || [ "$(head -n 1 "$kept")" != "$2" ]; then
		rm -f "$kept"
		return 1
	fi
	sed -n 2p "$kept" > "$log/$1.counts"
	sed 1,2d "$kept" > "$log/$1.note"
	echo "these tests ran $(date -r "$kept" '+on %e %B at %H:%M' | tr -s ' ') and nothing has" \
		"changed since; --again repeats them" >> "$log/$1.note"
}

# keep_result STAGE FINGERPRINT: remembers a stage that passed
keep_result() {
	local kept=$log/kept/$1
	mkdir -p "$log/kept"
	touch "$log/$1.note" # most stages have nothing to say
	{ echo "$2" && cat "$log/$1.counts" "$log/$1.note"; } > "$kept.new" &&
		mv "$kept.new" "$kept"
}
