"""./run, as a newcomer starts it: what it shows, what it says when something is in the way, what it
leaves."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from harness import AS_ROOT, BUILD, CAY, ROOT

pytestmark = pytest.mark.skipif(
    BUILD.name != "release", reason="./run builds and starts the release build"
)


def run(*args, cwd=ROOT):
    env = {name: value for name, value in os.environ.items() if not name.startswith("CAY_")}
    return subprocess.run(
        [ROOT / "run", *args], capture_output=True, text=True, cwd=cwd, env=env, timeout=300
    )


@pytest.fixture
def base():
    path = pathlib.Path(tempfile.mkdtemp(prefix="cay-run-"))
    path.chmod(0o755)
    yield path
    subprocess.run([*AS_ROOT, "rm", "-rf", "--one-file-system", path], check=True)


def groups_of(instance):
    return [group for group in pathlib.Path("/sys/fs/cgroup").rglob(f"cay-{instance}")]


def launcher_runs(data):
    return (data / "run/launcher.sock").exists()


def test_once_runs_a_program_and_leaves_nothing_running(base):
    done = run("--once", "--listen", "127.0.0.1:0", "--data", "state", cwd=base)
    assert done.returncode == 0 and "Hello from a sandbox of its own" in done.stdout, done
    data = base / "state"
    assert not launcher_runs(data)
    assert groups_of((data / "instance").read_text().strip()) == []


def test_settings_are_the_callers_file_and_what_is_said_beside_them_wins(base):
    (base / "own.toml").write_text('[server]\nlisten = "127.0.0.1:0"\ndefault_label = 1\n')
    refused = run("--once", "--data", "state", "--config", "own.toml", cwd=base)
    assert refused.returncode == 125 and "default_label" in refused.stderr, refused
    (base / "own.toml").write_text(
        '[server]\nlisten = "127.0.0.1:0"\n[network]\ndefault_policy = "off"\n'
    )
    done = run("--once", "--data", "state", "--config", "own.toml", cwd=base)
    assert (
        done.returncode == 0
        and "listening on http://127.0.0.1:" in done.stdout
        and ":8787" not in done.stdout
    ), done
    with_listen = run(
        "--once",
        "--data",
        "state",
        "--config",
        str(base / "own.toml"),
        "--listen",
        "256.0.0.1:1",
        cwd=base,
    )
    assert with_listen.returncode == 125 and "256.0.0.1" in with_listen.stderr, with_listen
    missing = run("--once", "--config", "none.toml", cwd=base)
    assert missing.returncode == 2 and str(base / "none.toml") in missing.stderr, missing


def test_a_second_run_on_the_same_data_says_so_and_disturbs_nothing(daemon, http, box):
    assert groups_of(
        (daemon.data / "instance").read_text().strip()
    )  # positive control of the test above
    done = run("--once", "--listen", "127.0.0.1:0", "--data", str(daemon.data))
    assert (
        done.returncode == 125 and "another daemon uses" in done.stderr and "--data" in done.stderr
    ), done
    assert launcher_runs(daemon.data)
    assert daemon.cli("exec", box["name"], "--", "echo", "alive").text == "alive\n"


def test_a_port_in_use_is_said_and_nothing_stays(daemon, base):
    done = run("--once", "--listen", f"127.0.0.1:{daemon.port}", "--data", str(base / "state"))
    assert done.returncode == 125 and "is in use" in done.stderr and "--listen" in done.stderr, done
    assert not launcher_runs(base / "state")


def test_a_daemon_whose_port_is_taken_starts_no_launcher(daemon, base):
    done = subprocess.run(
        [CAY, "serve", "--listen", f"127.0.0.1:{daemon.port}", "--data", base / "state"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 125 and "is in use" in done.stderr and "--listen" in done.stderr, done
    assert not launcher_runs(base / "state")


@pytest.mark.parametrize("setting", ["ca_file", "passphrase_file"])
def test_a_daemon_whose_settings_name_what_is_not_there_starts_no_launcher(base, setting):
    (base / "cay.toml").write_text(f'[vault]\n{setting} = "{base}/nothing"\n')
    done = subprocess.run(
        [
            CAY,
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--config",
            base / "cay.toml",
            "--data",
            base / "state",
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 125 and f"{base}/nothing" in done.stderr, done
    assert not launcher_runs(base / "state")


@pytest.mark.parametrize("args", [["--frob"], ["--listen"], ["--data"], ["--config"]])
def test_wrong_options_are_refused_with_the_usage(args):
    done = run(*args)
    assert done.returncode == 2 and args[0] in done.stderr and "Usage: ./run" in done.stderr, done


def test_what_root_makes_under_a_users_own_directory_is_theirs(base):
    if AS_ROOT or shutil.which("setpriv") is None:
        pytest.skip("needs root, to be somebody else")
    uid = 61234
    home = base / "home"
    home.mkdir(mode=0o700)
    os.chown(home, uid, uid)
    data = home / ".local/share/cay"
    subprocess.run(
        [CAY, "launcher", "--data", data, "--daemon-uid", str(uid), "--detach"],
        check=True,
        timeout=60,
    )
    try:
        assert {path.stat().st_uid for path in (home / ".local", home / ".local/share", data)} == {
            uid
        }
        assert data.stat().st_gid == uid
        # A directory that this user may not pass is refused.
        closed = base / "closed"
        closed.mkdir(mode=0o700)
        refused = subprocess.run(
            [CAY, "launcher", "--data", closed / "cay", "--daemon-uid", str(uid), "--detach"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert refused.returncode == 125 and "cannot reach" in refused.stderr, refused
    finally:
        subprocess.run([CAY, "launcher", "--data", data, "--stop"], check=True, timeout=60)
