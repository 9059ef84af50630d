"""What opens the vault: a key file or a passphrase, from one to the other, and with a backup."""
import contextlib
import io
import json
import os
import shutil
import subprocess
import tarfile

import needles
import outside_world as world_of
import pytest
from harness import CAY, Daemon, new_daemon, wait_until
from vault_box import HEADERS, Box, box, set_secret, world  # noqa: F401  (a fixture too)
from vault_world import SETTINGS

pytestmark = [
    pytest.mark.depth,
    pytest.mark.skipif(bool(world_of.missing()), reason=world_of.missing()),
]

HOST = "api.vault.test"


@contextlib.contextmanager
def daemon_with(world, daemon):
    """`daemon.settle(NAME=PASSPHRASE…)` writes its settings, for its next start."""
    settings = world.directory / f"{os.urandom(4).hex()}.toml"

    def settle(**passphrases):
        lines = ""
        for name, text in passphrases.items():
            file = settings.with_suffix(f".{name}")
            file.write_text(text + "\n")
            lines += f'{name} = "{file}"\n'
        settings.write_text(SETTINGS.format(ca=world.directory / "ca.pem") + lines)

    daemon.args, daemon.prefix, daemon.settle = ("--config", str(settings)), world.prefix, settle
    daemon.settle()
    daemon.start()
    try:
        yield daemon
    finally:
        daemon.close()


def vault_of(daemon):
    return next(
        one
        for one in json.loads(daemon.cli("doctor", "--json").text)["features"]
        if one["name"] == "vault"
    )


def start_again(daemon, **passphrases):
    """A broker goes on with what it opened its keys by: it is ended, as an operator does who
    changes that. While the daemon is not there: it would start another."""
    daemon.settle(**passphrases)
    daemon.terminate()
    subprocess.run([CAY, "broker", "--data", daemon.data, "--stop"], check=True, timeout=60)
    daemon.start()


def is_served(one):
    return one.curl(f"https://{HOST}/x")[0] == 200


def test_from_a_file_to_a_passphrase_to_another(world):
    first, second = "the first of two passphrases", "and the second one"
    with daemon_with(world, new_daemon()) as daemon:
        set_secret(daemon, "api", world.secret, HOST)
        with box(daemon, HEADERS) as one:
            assert one.json(f"https://{HOST}/x")["how"] == "Authorization"
            assert (daemon.data / "vault/key").exists()

            start_again(daemon, passphrase_file=first)
            wait_until(lambda: is_served(one), "with the passphrase")
            assert not (daemon.data / "vault/key").exists()

            start_again(daemon, passphrase_file=second)  # nobody said what it was before
            assert (
                not vault_of(daemon)["ok"] and "vault_locked" in vault_of(daemon)["found"]
            ), vault_of(daemon)
            assert "cannot be opened" in (daemon.data / "broker.log").read_text()
            refused = daemon.cli("secret", "set", "api", stdin=b"another-value-altogether")
            assert (
                refused.code == 125
                and b"by neither vault.passphrase_file" in refused.err
                and b"does not answer" not in refused.err
            ), refused
            with daemon.http() as http:
                told = http.get("/api/v1/vault/key")
                assert (told.status_code, told.json()["error"]["reason"]) == (
                    503,
                    "vault_locked",
                ), told.text
            assert not is_served(one)

            start_again(daemon, passphrase_file=second, previous_passphrase_file=first)
            wait_until(lambda: is_served(one), "with the new one")
            assert vault_of(daemon)["ok"] and not (daemon.data / "vault/refused").exists()

            start_again(daemon, passphrase_file=first)
            assert not vault_of(daemon)["ok"], "the former one opens nothing any more"

            start_again(daemon, passphrase_file=second)
            wait_until(lambda: is_served(one), "nothing was harmed by the wrong ones")
        for passphrase in (first, second):
            assert (
                needles.files_with(
                    [passphrase.encode()],
                    needles.files_below(daemon.data, without=("layers", "pool.img")),
                )
                == []
            )


def restored(daemon, data, backup, *more):
    """A daemon (not started) on what the backup holds, and what the command said. Its end removes
    the directory above `data`, too."""
    data.parent.mkdir(mode=0o755)
    words = ["restore", "--data", data, "--snapshots-of", daemon.data, *more, backup]
    done = subprocess.run([CAY, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done
    return Daemon(data), done.stdout


def add_to_backup(backup, name, content):
    plain = backup.with_suffix("")
    subprocess.run(["zstd", "-q", "-f", "-d", "--rm", backup, "-o", plain], check=True, timeout=60)
    with tarfile.open(plain, "a", format=tarfile.USTAR_FORMAT) as tar:
        head = tarfile.TarInfo(name)
        head.size, head.mode = len(content), 0o600
        tar.addfile(head, io.BytesIO(content))
    subprocess.run(["zstd", "-q", "-f", "--rm", plain, "-o", backup], check=True, timeout=60)


def test_a_backup_and_the_key_bring_the_secrets_back_and_a_backup_alone_does_not(world, directory):
    key, backup = directory / "key", directory / "backup.tar.zst"
    with daemon_with(world, new_daemon()) as daemon:
        set_secret(daemon, "api", world.secret, HOST)
        made = Box(daemon, HEADERS)
        assert made.json(f"https://{HOST}/x")["how"] == "Authorization"
        assert daemon.cli("stop", made.name).code == 0
        shutil.copy(daemon.data / "vault/key", key)
        done = subprocess.run(
            [CAY, "backup", "--data", daemon.data, "--without-snapshots", backup],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0 and "vault/key" in done.stdout + done.stderr, done
        # Earlier releases kept what servers were sent. Their backups have such files, and so has
        # their data directory.
        former = f"vault/{'ab' * 32}.sent"
        add_to_backup(backup, former, b"what an earlier release sealed")
        with_key, told = restored(daemon, directory / "with/data", backup, "--vault-key", key)
        assert "sealed" not in told and not (with_key.data / former).exists()
        (with_key.data / former).write_bytes(b"what an earlier release sealed")
        without_key, told = restored(daemon, directory / "without/data", backup)
        assert "sealed" in told and "--vault-key" in told
    for copy, opens in ((with_key, True), (without_key, False)):
        with daemon_with(world, copy):
            assert vault_of(copy)["ok"] == opens
            assert not (copy.data / former).exists()
            assert [one["name"] for one in json.loads(copy.cli("secret", "ls", "--json").text)] == [
                "api"
            ]
            made.daemon = copy
            started = copy.cli("start", made.name)
            assert (started.code == 0) == opens, started
            if opens:
                assert made.json(f"https://{HOST}/x")["how"] == "Authorization"
