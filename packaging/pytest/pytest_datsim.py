# SPDX-License-Identifier: BSD-3-Clause
"""
A pytest plugin of one file: RDMA programs of libibverbs, librdmacm or uDAPL on a simulated fabric.

Copy it beside your tests and name it in conftest.py (pytest_plugins = ["pytest_datsim"]), or put
its folder on PYTHONPATH and run pytest -p pytest_datsim. It needs datsim.

    def test_answers(fabric):
        fabric.fault("link emu0>emu1 drop opcode=SEND nth=3")
        result = fabric.run(["./server"], ["./client", "localhost"])
        assert result.returncode == 0, result.report

    @pytest.mark.fabric(seed=7, profile="iwarp", lockstep=True)
    def test_in_order(fabric): ...

The fixture `fabric` has the settings of the mark. Each run() is `datsim run`: it starts the
programs on a fabric of their own, and returns what they printed, the report and the exit status.
The traces and scripts of a test that fails are kept in --datsim-keep (default: datsim-failures),
with the command that repeats the run and the timeline. --datsim-seed overrides every seed.

Python code that uses pyverbs in the test process itself needs the fabric before Python starts:
`datsim run -- python3 -m pytest`. In such a process, fabric.inside is True.
"""
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

DATSIM = os.environ.get("DATSIM", "datsim")
SETTINGS = {"seed", "profile", "lockstep", "timeout"}


def inside():
    """Is this process itself on a fabric, by `datsim run` or `eval "$(datsim env)"`?"""
    lines = subprocess.run([DATSIM, "env"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           text=True).stdout
    folder = re.search(r"^(?:export )?LD_LIBRARY_PATH='?([^':$]+)", lines, re.M)
    return bool(folder) and folder.group(1) in os.environ.get("LD_LIBRARY_PATH", "").split(":")


class Result:
    """One `datsim run`: exit status, what the programs printed, and the report."""

    def __init__(self, done, command, trace):
        self.returncode = done.returncode
        self.stdout = done.stdout
        self.stderr = done.stderr
        self.command = command
        self.trace = trace

    @property
    def report(self):
        """The report of datsim run alone, without what the programs wrote to stderr."""
        start = re.search(r"^datsim: ", self.stderr, re.M)
        return self.stderr[start.start():] if start else self.stderr


class Fabric:
    """Settings, faults and runs of one test."""

    def __init__(self, folder, seed=1, profile="ib", lockstep=False, timeout=60):
        self.folder = folder
        self.seed = seed
        self.profile = profile
        self.lockstep = lockstep
        self.timeout = timeout
        self.inside = inside()
        self.results = []
        self._settings = []
        self._faults = []

    def fault(self, text):
        """Add a fault, as in datsim-script(5) without its first word: "link emu0>emu1 drop nth=1"."""
        self._faults.append("fault " + text)

    def setting(self, **settings):
        """Add settings of the fabric: setting(latency="5us", mtu=1024)."""
        for name, value in settings.items():
            self._settings.append(f"fabric {name}={value}")

    def run(self, *programs, check=False, **keywords):
        """Run programs, each a list of words, on one fabric; keywords are those of subprocess.run."""
        number = len(self.results) + 1
        trace = os.path.join(self.folder, f"run{number}.trace")
        command = [DATSIM, "run", "--seed", str(self.seed), "--profile", self.profile,
                   "--trace", trace]
        if self.lockstep:
            command.append("--lockstep")
        lines = self._settings + self._faults  # datsim wants them in this order
        if lines:
            script = os.path.join(self.folder, f"run{number}.dsim")
            with open(script, "w") as file:
                file.write("\n".join(lines) + "\n")
            command += ["--script", script]
        command.append("--")
        for i, program in enumerate(programs):
            command += (["+"] if i else []) + [str(word) for word in program]
        with open(os.path.join(self.folder, f"run{number}.command"), "w") as file:
            file.write(shlex.join(command) + "\n")
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=keywords.pop("timeout", self.timeout), **keywords)
        result = Result(done, command, trace)
        self.results.append(result)
        if check and result.returncode:
            pytest.fail(f"{shlex.join(command)}\nexits with {result.returncode}\n{result.stderr}")
        return result

    def timeline(self, number=-1):
        """The timeline of one of the runs."""
        return subprocess.run([DATSIM, "show", self.results[number].trace],
                              stdout=subprocess.PIPE, text=True).stdout


def pytest_addoption(parser):
    group = parser.getgroup("datsim")
    group.addoption("--datsim-keep", default="datsim-failures", metavar="DIR",
                    help="keep traces and scripts of failed tests here")
    group.addoption("--datsim-seed", type=int, metavar="N", help="the seed of every fabric")


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "fabric(seed=1, profile='ib', lockstep=False, timeout=60): the fixture's fabric")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when == "call":
        item.datsim_failed = report.failed


@pytest.fixture
def fabric(request, tmp_path):
    """A simulated RDMA fabric for the programs of this test."""
    if not shutil.which(DATSIM):
        pytest.skip(f"expected {DATSIM} in PATH: install datsim, or set DATSIM")
    settings = {}
    for mark in request.node.iter_markers("fabric"):
        settings = {**mark.kwargs, **settings}
    wrong = set(settings) - SETTINGS
    if wrong:
        pytest.fail(f"the mark fabric has no setting {', '.join(sorted(wrong))}: "
                    f"expected {', '.join(sorted(SETTINGS))}", pytrace=False)
    seed = request.config.getoption("--datsim-seed")
    if seed is not None:
        settings["seed"] = seed
    the_fabric = Fabric(str(tmp_path), **settings)
    yield the_fabric
    if getattr(request.node, "datsim_failed", False) and the_fabric.results:
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", request.node.nodeid)
        kept = os.path.join(request.config.getoption("--datsim-keep"), name)
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(the_fabric.folder, kept)
        for path in Path(kept).glob("*.command"):  # pytest removes its own folders some day
            path.write_text(path.read_text().replace(the_fabric.folder + os.sep,
                                                     shlex.quote(kept + os.sep)))
        with open(os.path.join(kept, "timeline.txt"), "w") as file:
            file.write(the_fabric.timeline())
        print(f"\ndatsim: trace, script and timeline are kept in {kept}")
