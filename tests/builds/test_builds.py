"""Dockerfiles of ten kinds of projects and of the tutorial: Cay's result is that of buildah.

The tutorial's build installs from the package registry, as its RUN reaches it. Files, modes,
owners, attributes, environment, entry point and the rest of the configuration are compared. Times
are left out. CAY_BUILD_BASES names the directory that tests/builds/bases filled.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import images
from harness import needs_root, new_daemon
from oci import Merged, config_of

HERE = pathlib.Path(__file__).resolve().parent
BASES = pathlib.Path(os.environ.get("CAY_BUILD_BASES", HERE.parents[1] / "build/long/bases"))
missing = [one for one in ("docker-registry", "skopeo", "buildah") if not shutil.which(one)]
pytestmark = [
    needs_root,
    pytest.mark.skipif(bool(missing), reason=f"not installed: {' and '.join(missing)}"),
]

# The images of each base, as the Dockerfiles name them.
NAMES = {
    "python": "python:3.11",
    "node": "node:18",
    "go": "golang:1.19",
    "cpp": "gcc:12",
    "java": "openjdk:17",
    "ruby": "ruby:3.1",
    "tutorial": "python:3.11",
}
# Each project with its base and more words for the command line.
PROJECTS = {
    "python": ("python", []),
    "node": ("node", []),
    "go": ("go", []),
    "cpp": ("cpp", []),
    "java": ("java", ["--build-arg", "MAIN=org.example.Main"]),
    "ruby": ("ruby", []),
    "stages": ("python", []),
    "user": ("python", []),
    "heredoc": ("python", []),
    "arguments": ("python", ["--build-arg", "VERSION=2.5", "--build-arg", "NAME=a b"]),
}
# Paths that hold times, or that a builder makes for itself.
LEFT_OUT = ("/__pycache__/", "/.cache/", "/root/.npm/", "/var/lib/gems/3.1.0/cache/")
# buildah looks for changes by size and time, and overlooks a backup that groupadd wrote.
OVERLOOKED = {"etc/group-", "etc/gshadow-", "etc/passwd-", "etc/shadow-"}
BUILDERS_OWN = {"etc/hosts", "etc/resolv.conf", "etc/hostname", "dev", "proc", "sys", "run", "tmp"}


class World:
    """A registry with the bases, a daemon, and buildah with a store of its own."""

    def __init__(self, folder, host, daemon):
        self.folder, self.host, self.daemon = folder, host, daemon
        self.pushed = set()
        (folder / "registries.conf").write_text(
            'unqualified-search-registries = ["docker.io"]\n[[registry]]\nprefix = "docker.io"\n'
            f'location = "{host}"\ninsecure = true\n'
        )
        (folder / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')

    def need(self, base):
        """Pushes the base. Both builders find it there by the name that Dockerfiles use."""
        if base in self.pushed:
            return
        tar, name = BASES / f"{base}.tar", NAMES[base]
        if not tar.exists():
            pytest.skip(f"{tar} is missing: tests/builds/bases makes it")
        words = ["--dest-compress-level=1", "--dest-tls-verify=false", f"tarball:{tar}"]
        run("skopeo", "--insecure-policy", "copy", *words, f"docker://{self.host}/library/{name}")
        self.pushed.add(base)

    def by_buildah(self, project, words):
        context = HERE / "projects" / project
        theirs = context / "Dockerfile.buildah"  # where it lacks a feature
        file = theirs if theirs.exists() else context / "Dockerfile"
        store = ["--root", self.folder / "store", "--runroot", self.folder / "run"]
        options = ["--storage-driver", "vfs", "--registries-conf", self.folder / "registries.conf"]
        buildah = ["buildah", *store, *options]
        policy = ["--signature-policy", self.folder / "policy.json"]
        run(
            *buildah,
            "bud",
            "--isolation=chroot",
            "--identity-label=false",
            *policy,
            *words,
            "-f",
            file,
            "-t",
            project,
            context,
        )
        layout = self.folder / f"{project}-buildah"
        run(*buildah, "push", "--disable-compression", *policy, project, f"oci:{layout}:1")
        run(*buildah, "rmi", "--force", project)
        return layout

    def by_cay(self, project, words):
        context = HERE / "projects" / project
        name = f"built-{project}"
        done = self.daemon.cli("snapshot", "build", "-t", name, *words, context, timeout=1800)
        assert done.code == 0, done
        reference = f"{self.host}/built/{project}:1"
        done = self.daemon.cli("snapshot", "push", name, reference, timeout=900)
        assert done.code == 0, done
        layout = self.folder / f"{project}-cay"
        words = ["--src-tls-verify=false", f"docker://{reference}", f"oci:{layout}:1"]
        run("skopeo", "--insecure-policy", "copy", *words)
        return layout


def run(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    assert done.returncode == 0, f"{words}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


@contextlib.contextmanager
def made_world(folder, reaches_packages=False):
    """With packages: the settings that `cay doctor` asks for on this host, so that pip works."""
    with contextlib.ExitStack() as stack:
        host = stack.enter_context(images.registry(folder / "registry"))
        settings = folder / "cay.toml"
        settings.write_text(f'[images.mirrors]\n"docker.io" = "http://{host}"\n')
        daemon = new_daemon("--config", settings)
        stack.callback(daemon.close)
        daemon.start()
        if reaches_packages:
            told = daemon.cli("doctor").out.decode()
            lines = re.findall(r"^ +((?:networks|host_authorities) = .*)$", told, re.M)
            with open(settings, "a") as file:
                file.write("\n".join(["[network]", *lines, ""]))
            daemon.restart()
        yield World(folder, host, daemon)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with made_world(tmp_path_factory.mktemp("builds")) as world:
        yield world


def is_compared(path, facts):
    if path in BUILDERS_OWN | OVERLOOKED or any(part in f"/{path}/" for part in LEFT_OUT):
        return False
    return not facts["kind"].startswith("device")  # a sandbox can have none


def kept(files):
    return {path: facts for path, facts in files.items() if is_compared(path, facts)}


def plain(config):
    """The parts of a configuration that decide how its image runs."""
    return {
        "environment": dict(one.split("=", 1) for one in config.get("Env") or []),
        "entry point": config.get("Entrypoint") or [],
        "command": config.get("Cmd") or [],
        "user": config.get("User", ""),
        "directory": config.get("WorkingDir") or "/",
        "labels": config.get("Labels") or {},
        "ports": sorted(config.get("ExposedPorts") or {}),
    }


def differences(ours, theirs):
    return {
        key: {"cay": ours.get(key), "buildah": theirs.get(key)}
        for key in sorted(set(ours) | set(theirs))
        if ours.get(key) != theirs.get(key)
    }


@pytest.mark.parametrize("project", PROJECTS)
def test_the_result_is_buildahs(world, project):
    is_buildahs(world, project, *PROJECTS[project])


def test_the_tutorials_build_is_buildahs(tmp_path):
    """FROM python:3.11, RUN pip install deepagents-cli: from a base of its own under that name."""
    with made_world(tmp_path, reaches_packages=True) as world:
        is_buildahs(world, "tutorial", "tutorial", [])
        done = world.daemon.cli("run", "built-tutorial", "--", "deepagents", "--version")
        assert done.code == 0, done


def is_buildahs(world, project, base, words):
    world.need(base)
    ours, theirs = world.by_cay(project, words), world.by_buildah(project, words)
    found = differences(kept(Merged(ours).files), kept(Merged(theirs).files))
    assert not found, json.dumps(dict(list(found.items())[:20]), indent=1)
    assert not differences(plain(config_of(ours)), plain(config_of(theirs)))
    assert len(Merged(ours).files) > 0
    for layout in (ours, theirs):
        shutil.rmtree(layout)


def test_a_difference_is_seen():
    """The control: another mode, owner or content, and a file too many."""
    file = {"kind": "file", "size": 1, "sha256": "0", "mode": 0o644, "uid": 0, "gid": 0}
    same = {"a": file, "b": file}
    assert differences(same, {**same}) == {}
    for change in ({"mode": 0o600}, {"uid": 1}, {"sha256": "1"}):
        assert list(differences(same, {"a": file, "b": {**file, **change}})) == ["b"]
    assert list(differences(same, {"a": file})) == ["b"]
