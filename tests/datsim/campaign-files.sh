#!/bin/sh
# The files of doc/campaign.md are those in examples/campaign, and work: the job array of Slurm with
# the variables that Slurm sets, GNU parallel, the steps of the CI matrix. tests/campaign-slurm.sh
# does the first with a real Slurm.
. "$(dirname "$0")/begin.sh"
source=${top_srcdir:-$here/../..}
source=$(cd "$source" && pwd)
files=$source/examples/campaign
needs "$top/tests/planted/credit"
mkdir "$scratch/bin" "$scratch/steps"
ln -s "$(cd "$(dirname "$datsim")" && pwd)/datsim" "$scratch/bin/datsim"
PATH=$scratch/bin:$PATH
program=$(cd "$top/tests/planted" && pwd)/credit
cd "$scratch" || exit 99
ln -s "$program" credit
RUNS=30
export RUNS

skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}
# names FOLDER: of its failures
names() { (cd "$1" && ls -- *.dsim); }
done_in() { cat "$1"/*.position | sed -n 's/^# done: //p' | sort | uniq -c | tr -s ' '; }

echo 1..13
awk -v to="$scratch/steps" -f "$source/tests/datsim/fences.awk" "$source/doc/campaign.md"
for name in campaign.sbatch parallel.sh matrix.yml; do
	base=$(grep -lx "$name" steps/*.file | sed 's/[.]file$//')
	holds "doc/campaign.md has $name as it is" cmp "$base.body" "$files/$name"
done

"$datsim" explore --runs 120 --store whole -- ./credit > out
SLURM_ARRAY_TASK_MAX=4
export SLURM_ARRAY_TASK_MAX
for task in 1 2 3 4; do
	SLURM_ARRAY_TASK_ID=$task STORE=array bash "$files/campaign.sbatch" ./credit > out 2>&1
done
holds "tasks of an array have each done their share" [ "$(done_in array)" = ' 4 30' ]
holds "they find what one process finds" [ "$(names array | wc -l)" -ge "$(names whole | wc -l)" ]
SLURM_ARRAY_TASK_ID=2 STORE=array bash "$files/campaign.sbatch" -- ./credit > out 2>&1
holds "a task that has done its share does nothing" grep -q '(30 of them in earlier runs)' out
wants() {
	SLURM_ARRAY_TASK_ID=2 bash "$files/campaign.sbatch" > out 2>&1
	[ $? = 2 ] && grep -q 'expected a program' out
}
holds "without a program it says what it wants" wants
if command -v parallel > /dev/null; then
	SHARDS=4 STORE=parallel sh "$files/parallel.sh" ./credit > out 2>&1
	holds "parallel has done all shards" [ "$(done_in parallel)" = ' 4 30' ]
	holds "and finds the same" [ "$(names parallel)" = "$(names array)" ]
else
	skip "parallel has done all shards" "parallel is not installed"
	skip "and finds the same" "parallel is not installed"
fi

# step JOB NAME: what a step of the matrix runs, for shard 3
cat > step.py << 'END'
import sys, yaml
jobs = yaml.safe_load(open(sys.argv[1]))["jobs"]
run = [s["run"] for s in jobs[sys.argv[2]]["steps"] if s.get("name") == sys.argv[3]][0]
print(run.replace("${{ matrix.shard }}", sys.argv[4] if len(sys.argv) > 4 else "?"))
END
step() { python3 step.py "$files/matrix.yml" "$@"; }
if python3 -c 'import yaml' 2> /dev/null; then
	ln -s credit rpc
	GITHUB_RUN_NUMBER=1
	export GITHUB_RUN_NUMBER
	for shard in 1 2 3 4 5 6 7 8; do
		step explore Explore $shard > explore.sh
		sh -e explore.sh > out 2>&1 && mv failures "failures-$shard"
	done
	holds "the steps of the matrix explore" \
		[ "$(cat failures-*/*.position | grep -c done:)" = 8 ]
	step merge Unite > unite.sh
	fails() {
		! sh -e unite.sh > out 2>&1
	}
	holds "the last job fails by new failures" fails
	holds "and says which" grep -q '^new failures: .*exit-[0-9a-f]*.dsim' out
	cp all/*.dsim known
	holds "once they are known it does not" sh -e unite.sh
else
	for what in explore fail say pass; do
		skip "the steps of the matrix $what" "python3 has no yaml"
	done
fi
