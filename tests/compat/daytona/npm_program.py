"""Runs the programs of the folder npm, which drive Daytona's npm client unmodified."""

import json
import os
import pathlib
import subprocess
import threading

from daytona_surface import PACKAGE
from harness import kill_keeper, slow

NPM = pathlib.Path(__file__).resolve().parent / "npm"
# By the word that a program prints.
DEEDS = {"kill": kill_keeper}


def told(program, daemon, folder, **settings):
    """Runs a program. Returns the lines that it told, and fails with those of failed checks."""
    given = folder / "settings.json"
    given.write_text(json.dumps({"package": str(PACKAGE), **settings}))
    lines, rest = [], []
    with subprocess.Popen(
        ["node", NPM / program, given],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **daemon.env},
    ) as process:
        late = threading.Timer(slow(180), process.kill)
        late.start()
        reader = threading.Thread(target=lambda: rest.append(process.stderr.read()))
        reader.start()
        for line in process.stdout:
            one = json.loads(line)
            if "ask" in one:
                DEEDS[one["ask"]](daemon, one["id"])
                print(file=process.stdin, flush=True)
            else:
                lines.append(one)
        process.wait()
        late.cancel()
        reader.join()
    failed = [f"{one['name']}\n{one['error']}" for one in lines if one.get("error")]
    assert process.returncode == 0 and not failed, "\n\n".join(failed) + rest[0][-3000:]
    return lines
