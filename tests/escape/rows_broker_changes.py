"""A WebSocket through the broker while its right is taken back: the sandbox's rule, its policy, the
secret. The control leaves all as it was."""
import os

from frame import row
from rows_upgrades import HOST, N, RULE, brokered, give_rules, went_on


def taken_back(name, attack, change, wall):
    """`change(host, box)`."""

    @row(f"upgrade-broker-{name}", attack, N, wall, by="A1 A4", proof="succeeds with all as it was")
    def run(host, lifted):
        brokered(host)
        box = f"upgrade-{os.urandom(4).hex()}"
        assert host.daemon.cli("create", "--name", box, "--policy", HOST).code == 0
        try:
            give_rules(host, box, RULE)
            return went_on(host, box, "speak", lambda: lifted or change(host, box), port=443)
        finally:
            host.daemon.cli("rm", box)


def set_off(host, box):
    done = host.daemon.cli("policy", "set", box, "off")
    assert done.code == 0, done


taken_back(
    "after-its-rule",
    "speak on over a WebSocket with a secret, whose rule was taken away",
    give_rules,
    "rules that are replaced count at once",
)
taken_back(
    "after-off",
    "speak on over one after the policy was changed to `off`",
    set_off,
    "no rule opens a host under `off`",
)
