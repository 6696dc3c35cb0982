#!/bin/bash
# The campaign of doc/campaign.md as a Slurm job array, on a cluster of one node that this script
# starts in a scratch folder: munged, slurmctld and slurmd with a configuration of their own, and no
# accounting. An array that is cancelled goes on where it was, and finds what one process finds.
# TAP, for ./check --full, which installs slurm-wlm. RUNS: schedules of each of the four shards.
build=${1:-${top_builddir:-.}}
build=$(cd "$build" && pwd)
source=$(cd "${top_srcdir:-$(dirname "$0")/..}" && pwd)
runs=${RUNS:-200}
PATH=$PATH:/usr/sbin:/sbin
skip() {
	echo "1..0 # SKIP $1"
	exit 0
}
for tool in munged mungekey slurmctld slurmd sbatch; do
	command -v $tool > /dev/null || skip "$tool is not installed (Debian: slurm-wlm, munge)"
done
[ "$(id -u)" = 0 ] || skip "slurmd runs jobs as root only"
program=$build/tests/planted/credit
for needed in "$program" "$build/tools/datsim/datsim"; do
	[ -x "$needed" ] || skip "$needed is not built"
done

# The sockets of munge and Slurm are in it: a short name, and a folder that others may enter.
work=$(mktemp -d /tmp/campaign.XXXXXX) || exit 99
chmod 755 "$work"
node=$(hostname -s)
daemons=
# shellcheck disable=SC2317 # trap
finish() {
	for pid in $daemons; do
		kill "$pid" 2> /dev/null
	done
	for pid in $daemons; do
		wait "$pid" 2> /dev/null
	done
	rm -rf "$work"
}
trap finish EXIT
export SLURM_CONF=$work/slurm.conf
mkdir -m 755 "$work/state" "$work/spool" "$work/jobs" "$work/bin"
ln -s "$build/tools/datsim/datsim" "$work/bin/datsim"
ln -s "$program" "$work/jobs/credit"
export PATH=$work/bin:$PATH

# Two free ports
ports=$(python3 -c 'import socket
s = [socket.socket() for i in range(2)]
for x in s: x.bind(("127.0.0.1", 0))
print(*(x.getsockname()[1] for x in s))') || exit 99
cat > "$SLURM_CONF" << END
ClusterName=campaign
SlurmctldHost=$node(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
SlurmctldPort=${ports% *}
SlurmdPort=${ports#* }
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,batch_sched_delay=0
ReturnToService=2
KillWait=5
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$node Default=YES MaxTime=INFINITE State=UP
END
# Without this file slurmd looks for control groups.
echo 'CgroupPlugin=cgroup/v1' > "$work/cgroup.conf"
mungekey --create --keyfile "$work/munge.key" || exit 99
munged --foreground --force --key-file="$work/munge.key" --socket="$work/munge.socket" \
	--pid-file="$work/munged.pid" --log-file="$work/munged.log" \
	--seed-file="$work/munged.seed" > "$work/munged.out" 2>&1 &
daemons=$!
until [ -S "$work/munge.socket" ]; do
	kill -0 $! 2> /dev/null || { cat "$work"/munged.*; skip "munged does not start here"; }
done
slurmctld -D -c > "$work/slurmctld.out" 2>&1 &
daemons="$! $daemons"
slurmd -D -c > "$work/slurmd.out" 2>&1 &
daemons="$! $daemons"
# At most a minute, of which the answer takes most
for _ in $(seq 60); do
	sinfo -h -o %t 2> /dev/null | grep -q idle && break
	read -rt 1 <> <(:)
done
sinfo -h -o %t 2> /dev/null | grep -q idle || {
	tail -n 5 "$work"/slurm*.out "$work"/slurm*.log | sed 's/^/# /'
	skip "slurmctld and slurmd do not start here"
}

n=0
# result OK TITLE
result() {
	n=$((n + 1))
	[ "$1" = 0 ] && echo "ok $n - $2" && return
	echo "not ok $n - $2"
	tail -n 40 "$work"/jobs/*.out "$work/said" 2> /dev/null | sed 's/^/# /'
}
# array RUNS OPTIONS...: submits it; with --wait its exit status is the highest of its tasks
array() {
	count=$1
	shift
	(cd "$work/jobs" && RUNS=$count sbatch --array=1-4 "$@" \
		"$source/examples/campaign/campaign.sbatch" ./credit) > "$work/said" 2>&1
}
done_of() { cat "$work"/jobs/failures/*.position 2> /dev/null | sed -n 's/^# done: //p'; }

# Much more than it can do before it is cancelled
array 100000000 --parsable
job=$(cat "$work/said")
until [ "$(done_of | grep -vxc 0)" -ge 1 ]; do
	squeue -h -j "$job" | grep -q . || break
	read -rt 1 <> <(:)
done
scancel "$job"
while squeue -h -j "$job" 2> /dev/null | grep -q .; do
	read -rt 1 <> <(:)
done
most=$(done_of | sort -n | tail -n 1)
result "$([ "${most:-0}" -ge 1 ]; echo $?)" "an array is cancelled; a shard has done ${most:-0}"

# The same number for each shard, beyond what any has done
total=$((${most:-0} + runs))
array $total --wait
result "$([ $? = 1 ]; echo $?)" "the same array again: all tasks end, with the status of a failure"
result "$([ "$(done_of | sort -u)" = $total ] && [ "$(done_of | wc -l)" = 4 ]; echo $?)" \
	"each of four shards has done $total"
result "$(grep -q 'of them in earlier runs' "$work"/jobs/explore-*.out; echo $?)" \
	"it went on where it was"
cd "$work/jobs" || exit 99
datsim merge --json merged.json failures -- ./credit > "$work/said" 2>&1
result $? "merge unites and shrinks"
datsim explore --runs $((4 * total)) --store alone -- ./credit > "$work/said" 2>&1
names() { (cd "$1" && ls -- *.dsim); }
result "$([ "$(names failures)" = "$(names alone)" ]; echo $?)" "it found what one process finds"
array $total --wait
result "$([ "$(done_of | sort -u)" = $total ]; echo $?)" "once more: nothing is left to do"
echo "1..$n"
echo "# $((4 * total)) schedules in four tasks of an array, on $(nproc) processors"
