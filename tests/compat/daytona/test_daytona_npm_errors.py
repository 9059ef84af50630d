"""Each exception that Daytona's npm client exports and Cay can cause, by one program."""

import refusing_git
from daytona_surface import NEVER_RAISED
from npm_program import told


def of(daemon):
    return {"apiUrl": daemon.env["DAYTONA_API_URL"], "apiKey": daemon.key}


def test_each_class_of_npm_was_raised(daemon, own_daemon, tmp_path):
    made = daemon.cli("key", "create", "npm-reader", "--scope", "read", "--data", daemon.data)
    limits = tmp_path / "cay.toml"
    limits.write_text("[server]\nrequests_per_second = 1\n")
    limited, drained = own_daemon("--config", limits), own_daemon()
    assert drained.cli("drain").code == 0
    *_, last = told(
        "errors.mjs",
        daemon,
        tmp_path,
        reader=made.text.split()[-1],
        limited=of(limited),
        drained=of(drained),
        refusing=refusing_git.REFUSING,
        begin_refusing=refusing_git.BEGIN,
        refuser=refusing_git.REFUSER,
    )
    limited.args = []  # so that its end is not refused as well
    limited.restart()
    kinds = set(last["kinds"])
    assert kinds - set(last["seen"]) == kinds & set(NEVER_RAISED)
