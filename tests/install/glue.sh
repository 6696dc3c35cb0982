#!/bin/bash
# packaging/: the completion of bash offers what `datsim help` lists, the syntax of vim colours a
# script, the plugin of pytest runs programs and keeps what failed, CTest runs one, YAML is valid.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../datsim/begin.sh"
packaging=$(cd "$here/../../packaging" && pwd)
planted=$top/tests/datsim/behaves
needs "$planted"
PATH=$top/tools/datsim:$PATH
export DATSIM=$datsim
XDG_RUNTIME_DIR=$scratch
export XDG_RUNTIME_DIR
cd "$scratch" || exit 99

skips() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}
have() { command -v "$1" > /dev/null; }

# Debian's modules belong to Debian's interpreter.
python=/usr/bin/python3
[ -x $python ] || python=python3

# ---- bash ----
# shellcheck source=/dev/null
. "$packaging/completion/datsim"
# offers WANTED WORD...: the last word is completed so
offers() {
	local wanted=$1
	shift
	# shellcheck disable=SC2034
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
	_datsim 2> /dev/null
	[ "${COMPREPLY[*]}" = "$wanted" ] || {
		echo "expected '$wanted', found '${COMPREPLY[*]}'"
		return 1
	}
}
holds "bash completes a command" offers explore datsim expl
holds "bash completes an option" offers --profile datsim run --pro
holds "bash completes the words of an option" offers 'ib iwarp' datsim run --profile ''
holds "bash completes kinds of faults" offers 'loss latency' datsim explore --faults l
holds "bash completes kinds behind a comma, but none twice" offers 'loss,hostile,latency' \
	datsim explore --faults loss,hostile,l
holds "bash completes when to use colours" offers 'auto always' datsim test --color a
# Each kind that bash offers is one that explore takes, which then misses its script.
every_kind() {
	local kind
	offers hostile datsim explore --faults hos && offers restart datsim explore --faults res &&
		offers all datsim explore --faults al || return 1
	_datsim_kinds datsim | tr ' ' '\n' > kinds
	[ "$(wc -l < kinds)" -ge 14 ] && while read -r kind; do
		! datsim explore --lockstep --faults "$kind" 2>&1 | grep -q 'wants kinds' ||
			return 1
	done < kinds
}
holds "bash offers every kind that explore takes" every_kind
holds "bash completes the argument of help" offers sweep datsim help sw
holds "bash leaves a program's arguments to the shell" offers '' datsim run -- ls --se
every_command() {
	datsim help | sed -n 's/^  datsim \([a-z]*\) .*/\1/p' | while read -r command; do
		offers "$command" datsim "$command" || return 1
		datsim help "$command" | sed -n 's/^  \(--[-a-z]*\).*/\1/p' |
			while read -r option; do
				offers "$option" datsim "$command" "$option" ||
					[ "${#COMPREPLY[@]}" -gt 1 ] || return 1
			done || return 1
	done
}
holds "every command and every option is offered" every_command
# zsh_offers WANTED WORD...: what zsh would add for the last word
zsh_offers() {
	local wanted=$1
	shift
	[ "$(zsh -fc '
		fpath=($1 $fpath); shift
		autoload -U _datsim
		compset() { : }
		compadd() { print $found }
		words=("$@") CURRENT=$#
		_datsim' zsh "$packaging/completion" "$@")" = "$wanted" ]
}
if have zsh; then
	holds "zsh completes the words of an option" zsh_offers 'auto always never' \
		datsim test --color ''
	holds "zsh completes kinds of faults" zsh_offers "$(echo $(cat kinds))" \
		datsim explore --faults drop,
else
	skips "zsh completes the words of an option" "no zsh"
	skips "zsh completes kinds of faults" "no zsh"
fi

# ---- editors ----
coloured() {
	printf '# low mark\nuse connected a@emu0 b@emu1\n5us a: dat_ep_post_send(ep, 64)\n' > x.dsim
	printf 'turn order\nfor i in 1..2: a: dat_ep_free(ep$i)\n' >> x.dsim
	cat > ask.vim <<- END
		set rtp^=$packaging/vim
		filetype on
		syntax on
		edit x.dsim
		redir! > names
		echo synIDattr(synID(1, 1, 1), 'name')
		echo synIDattr(synID(2, 1, 1), 'name')
		echo synIDattr(synID(3, 1, 1), 'name')
		echo synIDattr(synID(3, 5, 1), 'name')
		echo synIDattr(synID(3, 9, 1), 'name')
		echo synIDattr(synID(4, 1, 1), 'name')
		echo synIDattr(synID(5, 1, 1), 'name')
		echo synIDattr(synID(5, 33, 1), 'name')
		redir END
		qa!
	END
	vim -e -s -u NONE -S ask.vim < /dev/null
	tr -s '\n' ' ' < names
	[ "$(echo $(cat names))" = "dsimComment dsimStatement dsimTime dsimActor dsimCall \
dsimStatement dsimStatement dsimVariable" ]
}
if have vim && vim --version | grep -q '+syntax'; then
	holds "vim colours a script" coloured
else
	skips "vim colours a script" "no vim with +syntax"
fi
grammar() {
	$python - "$packaging/textmate/dsim.tmLanguage.json" <<- 'END'
		import json, re, sys
		patterns = json.load(open(sys.argv[1]))["patterns"]
		def of(line, word):
		    return [p["name"].split(".")[0] for p in patterns
		            if word in [m.group(0) for m in re.finditer(p["match"], line)]]
		names = [p["name"] for p in patterns
		         if re.search(p["match"], "5us a: dat_ep_free(ep) = DAT_SUCCESS # so")]
		assert len(names) >= 5, names
		assert of("turn order", "turn") == ["keyword"]
		assert of("for i in 1..2: a: dat_ep_free(ep$i)", "$i") == ["variable"]
	END
}
holds "the grammar of TextMate is JSON, and its patterns match a line" grammar

# ---- pytest ----
pytest_runs() { # STATUS PATTERN ARGS...
	local wanted=$1 pattern=$2
	shift 2
	PYTHONPATH=$packaging/pytest $python -m pytest -p pytest_datsim -p no:cacheprovider -q \
		"$@" > pytest.out 2>&1
	[ $? -eq "$wanted" ] && grep -qE "$pattern" pytest.out || {
		cat pytest.out
		return 1
	}
}
not_empty() { for file; do test -s "$kept/$file" || { echo "no $file"; return 1; }; done; }
cat > test_fabric.py <<- END
	import pytest
	BEHAVES = "$planted"

	def test_well(fabric):
	    assert fabric.run([BEHAVES, "well"]).returncode == 0

	@pytest.mark.fabric(seed=7, lockstep=True)
	def test_pair(fabric):
	    result = fabric.run([BEHAVES, "well"], [BEHAVES, "well"], check=True)
	    assert "seed 7" in result.report or fabric.seed == 7
	    assert fabric.timeline()

	def test_fails(fabric):
	    fabric.fault("link emu0>emu1 drop nth=1 optional")
	    fabric.setting(latency="50us")
	    assert fabric.run([BEHAVES, "fail"]).returncode == 0

	@pytest.mark.fabric(sed=7)
	def test_wrong(fabric):
	    pass
END
if $python -c 'import pytest' 2> /dev/null; then
	holds "the fixture runs one program" pytest_runs 0 '1 passed' test_fabric.py::test_well
	holds "the fixture runs two in lockstep" pytest_runs 0 '1 passed' test_fabric.py::test_pair
	holds "a failure is kept" pytest_runs 1 'are kept in' test_fabric.py::test_fails
	kept=datsim-failures/test_fabric.py_test_fails
	holds "with trace, script, command and timeline" not_empty run1.trace run1.dsim \
		run1.command timeline.txt
	holds "a wrong setting says which there are" pytest_runs 1 \
		'no setting sed: expected lockstep, profile, seed' test_fabric.py::test_wrong
else
	skips "the fixture of pytest" "no pytest"
fi
cat > test_pyverbs.py <<- END
	import sys
	import pytest
	PAIR = [sys.executable, "$here/pyverbs_pair.py"]

	def test_devices(fabric):
	    assert fabric.inside
	    from pyverbs.device import Context
	    from pyverbs.pd import PD
	    with Context(name="emu0") as context, PD(context):
	        assert context.query_device().max_qp > 0

	@pytest.mark.fabric(seed=7)
	def test_arrives(fabric):
	    fabric.fault("link emu0>emu1 loss 50%")
	    traces = []
	    for fabric.seed in 7, 7, 9:
	        with open(fabric.run(PAIR, check=True).trace) as file:
	            traces.append([line for line in file if not line.startswith("#")])
	    assert traces[0] == traces[1] != traces[2]
	    assert "dropped by fault 1, line 1" in fabric.timeline(0)

	@pytest.mark.fabric(seed=7)
	def test_is_lost(fabric):
	    fabric.fault("link emu0>emu1 drop opcode=SEND")
	    assert fabric.run(PAIR).returncode == 0
END
with_pyverbs() {
	PYTHONPATH=$packaging/pytest datsim run -- $python -m pytest -p pytest_datsim \
		-p no:cacheprovider -q test_pyverbs.py::test_devices
}
# The command that was kept makes the same trace again, with nothing but what was kept.
again() {
	grep -v '^#' "$kept/run1.trace" > first && rm "$kept/run1.trace" || return
	grep pytest-of "$kept/run1.command" && return 1
	sh "$kept/run1.command" 2> again.out
	[ $? -eq 1 ] && grep -q 'a Send ends with status 12' again.out &&
		grep -v '^#' "$kept/run1.trace" | cmp - first
}
kept_timeline() {
	grep -q 'emu0>emu1 SEND #1 .*dropped by fault 1, line 1' "$kept/timeline.txt" &&
		grep -q 'sends again from #1, try 7' "$kept/timeline.txt" &&
		grep -q 'ibv_poll_cq(cq1) = SEND, IBV_WC_RETRY_EXC_ERR' "$kept/timeline.txt"
}
why=
if ! $python -c 'import pytest, pyverbs' 2> /dev/null || ! datsim env > /dev/null 2>&1; then
	why="no pytest, pyverbs or verbs front"
fi
pyverbs() {
	if [ "$why" ]; then
		skips "$1" "$why"
	else
		holds "$@"
	fi
}
pyverbs "tests with pyverbs run inside datsim run" with_pyverbs
if ${NM:-nm} "$datsim" | grep -qE '__(asan|tsan)_init'; then
	why="a program without a sanitizer cannot load a library with one"
fi
pyverbs "a program of pyverbs gets its Sends over a lossy link, twice alike" pytest_runs 0 \
	'1 passed' test_pyverbs.py::test_arrives
pyverbs "one whose Sends are lost fails, and is kept" pytest_runs 1 \
	"kept in kept here/test_pyverbs.py_test_is_lost\$" --datsim-keep 'kept here' \
	test_pyverbs.py::test_is_lost
kept='kept here/test_pyverbs.py_test_is_lost'
pyverbs "with the timeline of what happened" kept_timeline
pyverbs "and the command that repeats it" again

# ---- CTest ----
cat > CMakeLists.txt <<- END
	cmake_minimum_required(VERSION 3.18)
	project(x NONE)
	enable_testing()
	list(APPEND CMAKE_MODULE_PATH "$packaging/ctest")
	include(Datsim)
	datsim_add_test(NAME well COMMAND "$planted" well)
	datsim_add_test(NAME pair LOCKSTEP SEED 3 COMMAND "$planted" well + "$planted" well)
END
with_ctest() {
	cmake -S . -B cm -DDATSIM="$datsim" && (cd cm && ctest --output-on-failure) &&
		test -s cm/pair.trace
}
if have cmake; then
	holds "CTest runs programs on a fabric" with_ctest
else
	skips "CTest runs programs on a fabric" "no cmake"
fi

# ---- YAML, RPM ----
is_yaml() { $python -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' "$1"; }
if $python -c 'import yaml' 2> /dev/null; then
	holds "the action is YAML" is_yaml "$packaging/action/action.yml"
else
	skips "the action is YAML" "no yaml for python"
fi
spec() { rpmspec -P "$packaging/rpm/libdat.spec" | grep -q '^Version: *0'; }
if have rpmspec; then
	holds "the spec of RPM can be read" spec
else
	skips "the spec of RPM can be read" "no rpmspec"
fi
echo "1..$n"
