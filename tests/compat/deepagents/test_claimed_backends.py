"""A sandbox for each thread: found again on the next turn, and never replaced in silence."""
import threading

import pytest
from harness import slow


def test_turns_of_a_thread_share_one_sandbox(http):
    from cay_deepagents import CaySandbox

    claim = "thread:of this test"
    with CaySandbox(claim=claim, labels={"for": "claims"}) as first:
        assert first.created
        first.write("/kept", "of the first turn")
    got, start = [], threading.Barrier(4)

    def turn():
        start.wait()
        with CaySandbox(claim=claim) as later:
            got.append((later.id, later.created, later.execute("cat /kept").output))

    threads = [threading.Thread(target=turn) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(slow(60))
    assert got == [(first.id, False, "of the first turn")] * 4
    http.delete(f"/api/v1/sandboxes/{first.id}")
    with CaySandbox(claim=claim) as another:  # the caller sees that it is another one
        assert another.created and another.id != first.id
    http.delete(f"/api/v1/sandboxes/{another.id}")


def test_a_sandbox_that_exists_takes_no_claim():
    from cay_deepagents import CaySandbox

    with pytest.raises(ValueError, match="no claim"):
        CaySandbox("some-name", claim="thread:1")
