"""Programs of earlier states that are kept in the tree: tests/compat/keepers (launchers),
tests/compat/daemons (cay)."""
import pathlib
import shutil
import subprocess

COMPAT = pathlib.Path(__file__).resolve().parent / "compat"
DAEMONS = sorted((COMPAT / "daemons").glob("*.zst"))
LAUNCHERS = sorted((COMPAT / "keepers").glob("*.zst"))


def unpacked(packed, folder):
    if shutil.which("zstd") is None:
        raise RuntimeError("zstd is missing: apt-get install zstd")
    program = pathlib.Path(folder) / packed.stem
    subprocess.run(["zstd", "-qdf", packed, "-o", program], check=True)
    program.chmod(0o755)
    return program
