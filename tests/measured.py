"""Figures that are kept: with the commit they are of, the machine and its load."""
import datetime
import os
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def commit():
    def git(*words):
        return subprocess.run(
            ["git", "-C", ROOT, *words], capture_output=True, text=True, check=False
        ).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":!docs")
    return (git("rev-parse", "--short=12", "HEAD") or "no commit") + (
        " with changes" if changed else ""
    )


def machine():
    """What it was measured on, and how busy that is."""
    return (
        f"{platform.release()}, {os.cpu_count()} CPUs, load "
        f"{' '.join(f'{one:.2f}' for one in os.getloadavg())}"
    )


def head():
    """The line that stands over a file of figures."""
    return f"commit {commit()}, {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC\n"
