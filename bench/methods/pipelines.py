"""Real work, in a sandbox and on the bare host by turns: a C++ build, the installation of packages
from local wheels, and the test suite of one of them."""

import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

import figures

# networkx has its own test suite with it. The versions stay the same from run to run.
WHEELS = (
    "networkx==3.4.2",
    "pytest==8.3.4",
    "iniconfig==2.0.0",
    "pluggy==1.5.0",
    "packaging==24.2",
    "click==8.1.8",
    "idna==3.10",
    "six==1.17.0",
)
TESTED = ("tree", "shortest_paths")
PYTHON = "/usr/bin/python3"
BUILD = "a C++ build (6 files, 2 at a time)"
INSTALL = "pip install of 8 local wheels"
SUITE = "a test suite (networkx)"
UNITS = 6
UNIT = """#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>
int unit_{0}(const std::string& text) {{
  std::map<std::string, int> seen;
  std::vector<std::string> words;
  std::regex word("[a-z]+{0}?");
  for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at)
    ++seen[at->str()];
  for (auto& [name, count] : seen) words.push_back(name + std::to_string(count));
  std::sort(words.begin(), words.end());
  return static_cast<int>(words.size());
}}
"""


def _sources(place):
    """Writes the projects, and returns the line of sh for each."""
    for number in range(UNITS):
        (place / f"unit_{number}.cc").write_text(UNIT.format(number))
    lines = {}
    compiler = shutil.which("g++", path="/usr/bin") or shutil.which("clang++-19", path="/usr/bin")
    if compiler:
        objects = "cd /tmp && rm -rf bench-build && mkdir bench-build && cd bench-build"
        lines[BUILD] = f"{objects} && ls {place}/*.cc | xargs -P2 -n1 {compiler} -O1 -c"
    return lines


def _wheels(place, at):
    """Downloads wheels. Returns the lines of sh that install and use them: none if it cannot."""
    wheels = place / "wheels"
    done = subprocess.run(
        ["python3", "-m", "pip", "download", "-q", "--no-deps", "-d", wheels, *WHEELS],
        capture_output=True,
        text=True,
        check=False,
    )
    pip = place / "pip"
    if done.returncode == 0:
        done = subprocess.run(
            ["python3", "-m", "pip", "install", "-q", "--target", pip, "pip"],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        at.told(f"pipelines: no wheels: {done.stderr.strip()[-200:]}")
        return {}
    names = " ".join(str(one) for one in sorted(wheels.glob("*.whl")))
    tests = " ".join(f"networkx.algorithms.{name}" for name in TESTED)
    return {
        INSTALL: f"rm -rf /tmp/bench-site && PYTHONPATH={pip} {PYTHON} -m pip install -q "
        f"--no-index --no-deps --disable-pip-version-check --target /tmp/bench-site {names}",
        # Cwd is a directory without tests or settings of its own.
        SUITE: f"cd /tmp/bench-site && PYTHONPATH=/tmp/bench-site {PYTHON} -m pytest -q "
        f"-p no:cacheprovider --pyargs {tests}",
    }


def _seconds_on_host(line):
    begun = figures.now()
    subprocess.run(
        ["/bin/sh", "-c", f"{{ {line}; }} >/tmp/bench-output 2>&1"],
        check=True,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root"},
    )
    return figures.now() - begun


def _seconds_inside(at, box, line):
    begun = figures.now()
    at.fresh_api().run(
        box, "/bin/sh", "-c", f"{{ {line}; }} >/tmp/bench-output 2>&1", timeout_s=600
    )
    return figures.now() - begun


def measure(at):
    with tempfile.TemporaryDirectory(prefix="cay-bench-", dir="/var/tmp") as name:
        place = pathlib.Path(name)
        os.chmod(place, 0o755)
        lines = _sources(place)
        lines.update(_wheels(place, at))
        room = {"memory_bytes": 4 << 30, "disk_bytes": 4 << 30, "cpu_millicores": 2000}
        with at.box(limits=room) as box:
            at.daemon.cli("cp", place, f"{box}:{place.parent}/", timeout=300)
            for what, line in lines.items():
                host, inside = [], []
                for number in range(at.count(5, 1) + 1):
                    ways = [
                        (host, lambda: _seconds_on_host(line)),
                        (inside, lambda: _seconds_inside(at, box, line)),
                    ]
                    for times, run in ways if number % 2 else ways[::-1]:
                        times.append(run())
                _report(at, what, host[1:], inside[1:])


def _report(at, what, host, inside):
    at.add(f"{what}: bare", [one * 1e6 for one in host])
    at.add(f"{what}: cay", [one * 1e6 for one in inside])
    each = [one / other for one, other in zip(inside, host)]
    at.value(f"{what}: slower by", 100 * (statistics.median(each) - 1), "%")
