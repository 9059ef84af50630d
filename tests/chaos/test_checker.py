"""The judge of the chaos test is judged: each lie is caught, and the truth is not."""
import copy

import pytest

from checker import Asked, Faults, Gap, Seen, check
from content import content, parse_record

ASKED = Asked(id="c1", seed=7, script=["o100", "e40", "x3"], accepted="yes", kind="short")
RECORD = parse_record("begin 5 1000\nmay1 100 0\ndid1 100 0\nmay2 40 0\ndid2 40 0\nexit 3 1001\n")


def data(stream, start, end):
    return stream, start, content(ASKED.seed, stream, end)[start:]


def truth(**changes):
    seen = Seen(
        observer="ws",
        state="exited",
        exit_code=3,
        chunks=[data(1, 0, 48), data(2, 0, 40), data(1, 48, 100)],
        extents={1: (100, 100), 2: (40, 40)},
    )
    for name, value in changes.items():
        setattr(seen, name, value)
    return seen


def judge(*seens, asked=ASKED, record=RECORD, faults=Faults()):
    return check(copy.deepcopy(asked), record, list(seens), faults)


def caught(wrong, words):
    assert any(words in sentence for sentence in wrong), wrong


def test_the_truth_passes():
    assert judge(truth(), truth(observer="list", chunks=None)) == []
    middle = truth(
        observer="again", chunks=[data(1, 64, 100), data(2, 40, 40)], starts={1: 64, 2: 40}
    )
    assert judge(truth(), middle) == []


def test_blocks():
    lost = [(1, 0, content(7, 1, 32) + content(7, 1, 100)[48:]), data(2, 0, 40)]
    caught(judge(truth(chunks=lost)), "is wrong from offset 44")
    doubled = [(1, 0, content(7, 1, 32) + content(7, 1, 100)[16:]), data(2, 0, 40)]
    caught(judge(truth(chunks=doubled)), "bytes of stream 1, the command wrote 100")
    whole = content(7, 1, 100)
    swapped = [(1, 0, whole[16:32] + whole[:16] + whole[32:]), data(2, 0, 40)]
    caught(judge(truth(chunks=swapped)), "is wrong from offset 12")
    caught(
        judge(truth(chunks=[data(1, 0, 48), data(1, 64, 100), data(2, 0, 40)])),
        "lost: 64 follows 48",
    )
    caught(
        judge(truth(chunks=[data(1, 0, 48), data(1, 32, 100), data(2, 0, 40)])),
        "repeated: 32 follows 48",
    )
    caught(judge(truth(chunks=[data(1, 0, 96), data(2, 0, 40)])), "the tail was lost")
    caught(
        judge(truth(chunks=[(1, 0, content(7, 2, 100)), data(2, 0, 40)])), "is wrong from offset"
    )


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"exit_code": 0}, "the command exited with 3"),
        ({"state": "signalled", "exit_code": None, "signal": 9}, "did not send itself"),
        ({"state": "timed_out", "exit_code": None, "signal": 9}, "without one"),
        (
            {"state": "killed", "exit_code": None, "signal": 9, "by": "client"},
            "who did not kill it",
        ),
        (
            {"state": "killed", "exit_code": None, "signal": 9, "by": "sandbox stop"},
            "who did not kill it",
        ),
        ({"state": "lost", "exit_code": None, "reason": "why"}, "no keeper was lost"),
        ({"state": "oom_killed", "exit_code": None, "signal": 9}, "no cause"),
        ({"state": "running", "exit_code": None}, "is no end"),
        ({"ends": 2}, "told 2 ends"),
        ({"extents": {1: (100, 96), 2: (40, 40)}}, "ended at 96"),
        ({"extents": {1: (116, 100), 2: (40, 40)}}, "has 116 bytes"),
    ],
)
def test_ends(changes, words):
    caught(judge(truth(**changes)), words)


def test_an_exit_that_never_was():
    record = parse_record("begin 5 1000\nmay1 100 0\ndid1 100 0\nmay2 40 0\ndid2 40 0\n")
    caught(judge(truth(), record=record), "invented exit 3")
    caught(judge(truth(), record=None), "invented exit 3")


def test_observers_must_agree():
    caught(judge(truth(), truth(observer="list", exit_code=4)), "different ends")


def test_runs():
    twice = parse_record(
        "begin 5 1\nbegin 6 2\nmay1 100 0\ndid1 100 0\nmay2 40 0\ndid2 40 0\nexit 3 1001\n"
    )
    caught(judge(truth(), record=twice), "ran 2 times")
    refused = copy.deepcopy(ASKED)
    refused.accepted = "no"
    caught(judge(asked=refused), "ran though it was refused")
    caught(judge(record=None), "accepted and then nobody knew it")


def test_a_killed_command_may_end_within_a_write():
    asked = Asked(id="c1", seed=7, script=["o100", "h"], accepted="yes", kills=1)
    record = parse_record("begin 5 1000\nmay1 64 0\ndid1 64 0\nmay1 100 0\n")
    killed = {"state": "killed", "exit_code": None, "signal": 9, "by": "client", "extents": None}
    for end in (64, 70, 100):
        assert judge(truth(**killed, chunks=[data(1, 0, end)]), asked=asked, record=record) == []
    caught(
        judge(truth(**killed, chunks=[data(1, 0, 63)]), asked=asked, record=record),
        "the tail was lost",
    )


def test_lost_input():
    lost = {
        "state": "lost",
        "exit_code": None,
        "reason": "input lost: the daemon ended",
        "extents": None,
    }
    asked = Asked(id="c1", seed=7, script=["i", "x0"], accepted="yes", stdin=64)
    record = parse_record("begin 5 1\nread 32 0\n")
    assert judge(truth(**lost, chunks=[]), asked=asked, record=record) == []
    whole = Asked(
        id="c1",
        seed=7,
        script=["i", "x0"],
        accepted="yes",
        stdin=64,
        stdin_acked=64,
        stdin_whole=True,
    )
    caught(judge(truth(**lost, chunks=[]), asked=whole, record=record), "all of which was taken")
    none = Asked(id="c1", seed=7, script=["x0"], accepted="yes")
    caught(judge(truth(**lost, chunks=[]), asked=none, record=record), "of which there was none")
    read = parse_record("begin 5 1\nread 64 0\nstdin_end 0 0\n")
    caught(judge(truth(**lost, chunks=[]), asked=asked, record=read), "whose end it had read")


def test_stdin():
    asked = Asked(
        id="c1",
        seed=7,
        script=["i", "x0"],
        accepted="yes",
        stdin=64,
        stdin_acked=64,
        stdin_whole=True,
    )
    base = "begin 5 1\nread {0} 0\nmay1 {0} 0\ndid1 {0} 0\nstdin_end 0 0\nexit 0 2\n"

    def seen(size):
        return truth(exit_code=0, chunks=[(1, 0, content(7, 0, size))], extents=None)

    assert judge(seen(64), asked=asked, record=parse_record(base.format(64))) == []
    caught(judge(seen(48), asked=asked, record=parse_record(base.format(48))), "some were lost")
    caught(judge(seen(80), asked=asked, record=parse_record(base.format(80))), "some came twice")


def test_late_bytes_come_after_the_end():
    asked = Asked(id="c1", seed=7, script=["o100", "l60", "x0"], accepted="yes")
    record = parse_record(
        "begin 5 1\n"
        "may1 100 0\n"
        "did1 100 0\n"
        "exit 0 2\n"
        "late_begins 100 0\n"
        "may1 160 0\n"
        "did1 160 0\n"
        "late_done 160 0\n"
    )
    early = truth(exit_code=0, chunks=[data(1, 0, 100)], extents={1: (160, 100), 2: (0, 0)})
    assert judge(early, asked=asked, record=record) == []
    caught(
        judge(
            truth(exit_code=0, chunks=[data(1, 0, 99)], extents=None), asked=asked, record=record
        ),
        "tail was lost",
    )


def test_a_facade_that_has_only_text_and_a_code():
    text = {
        1: content(7, 1, 100).decode(errors="replace"),
        2: content(7, 2, 40).decode(errors="replace"),
    }
    seen = Seen(observer="langsmith", shell_code=3, text=text)
    assert judge(seen, truth(observer="list", chunks=None)) == []
    caught(
        judge(
            Seen(observer="langsmith", shell_code=0, text=text), truth(observer="list", chunks=None)
        ),
        "shell code 0",
    )
    torn = {1: text[1][:30] + text[1][45:], 2: text[2]}
    caught(
        judge(
            Seen(observer="langsmith", shell_code=3, text=torn), truth(observer="list", chunks=None)
        ),
        "wrong from character",
    )


LIMITED = Asked(id="c1", seed=7, script=["o20000", "x3"], accepted="yes", limit=4097)
LONG = parse_record("begin 5 1000\nmay1 20000 0\ndid1 20000 0\nexit 3 1001\n")
TOLD = (2048, 20000 - 2049)  # what is dropped: all but the first 2048 and the last 2049 bytes


def limited(begin=TOLD[0], end=TOLD[1], told=TOLD, **changes):
    chunks = [data(1, 0, begin), (1, begin, Gap(end - begin)), data(1, end, 20000)]
    seen = Seen(
        observer="ws",
        state="exited",
        exit_code=3,
        chunks=chunks,
        extents={1: (20000, 20000), 2: (0, 0)},
        gaps={1: told, 2: (0, 0)},
    )
    for name, value in changes.items():
        setattr(seen, name, value)
    return seen


def test_dropped_bytes_are_told_exactly():
    def judged(*seens, record=LONG, asked=LIMITED):
        return judge(*seens, asked=asked, record=record)

    assert judged(limited()) == []
    # A reader that keeps up sees bytes that are dropped later, and its gap is smaller.
    assert judged(limited(begin=4000, end=9000)) == []
    assert judged(limited(chunks=[data(1, 0, 20000)])) == []
    for begin, end in ((2047, TOLD[1]), (2048, TOLD[1] + 1)):
        caught(
            judged(limited(begin, end)),
            f"bytes {begin} to {end} of stream 1 are said to be dropped",
        )
    for told in ((0, 0), (2048, TOLD[1] - 1), (2047, TOLD[1]), (2048, TOLD[1] + 1)):
        caught(judged(limited(told=told)), "are said to be dropped, not (2048, 17951)")
    caught(
        judged(limited(told=(0, 5), chunks=None, extents={1: (20000, 20000), 2: (0, 0)})),
        "not (2048, 17951)",
    )
    whole = copy.deepcopy(LIMITED)
    whole.limit = 0
    caught(judged(limited(), asked=whole), "and a limit of 0")
    asked = copy.deepcopy(LIMITED)
    asked.asked_ms = 1000
    untold = limited(chunks=[data(1, 0, 2048), (1, 2048, Gap(20000 - 2048))], told=(2048, 20000))
    assert judge(untold, asked=asked, record=LONG, faults=Faults(keepers_killed=[1500])) == []
    caught(judged(untold), "bytes 2048 to 20000 of stream 1 are said to be dropped")
    # Silence where something was dropped.
    silent = [data(1, 0, TOLD[0]), data(1, *TOLD[1:], 20000)]
    caught(judged(limited(chunks=silent)), "lost: 17951 follows 2048")
    lost = Faults(keepers_killed=[1500])
    asked = copy.deepcopy(LIMITED)
    asked.asked_ms = 1000
    dead = limited(
        state="lost",
        exit_code=None,
        reason="keeper lost",
        chunks=[data(1, 0, 2048), (1, 2048, Gap(2049))],
        extents={1: (4097, 4097), 2: (0, 0)},
        told=(2048, 4097),
    )
    assert judge(dead, asked=asked, record=LONG, faults=lost) == []
    # It had seen more than the dead keeper's record has, which happens with a lost command alone.
    dead = limited(
        state="lost",
        exit_code=None,
        reason="keeper lost",
        chunks=[data(1, 0, 9000)],
        past_end=True,
        whole=(),
        extents={1: (4097, 4097), 2: (0, 0)},
        told=(2048, 4097),
    )
    assert judge(dead, asked=asked, record=LONG, faults=lost) == []
    caught(judged(limited(past_end=True)), "fewer bytes than before")


def test_an_answer_that_is_not_all_is_the_beginning():
    whole = content(7, 1, 20000)

    def judged(beginning):
        return judge(limited(chunks=None, beginning={1: beginning}), asked=LIMITED, record=LONG)

    assert judged(whole[:2048]) == []
    assert judged(whole[:9000]) == []
    caught(judged(whole[1:2049]), "the beginning of stream 1 is wrong")
    caught(judged(whole[:2048] + whole[-2049:]), "the beginning of stream 1 is wrong")
    caught(judged(whole[:2000]), "2000 bytes of stream 1 were told of 20000")
    caught(judged(whole + b"x"), "20001 bytes of stream 1, the command wrote 20000")


def test_forgotten_only_after_its_ttl():
    asked = copy.deepcopy(ASKED)
    asked.ttl_ms = 1000

    def gone(at, asked=asked):
        return judge(
            Seen(observer="ws", forgotten_ms=at, chunks=[data(1, 0, 48)], whole=()), asked=asked
        )

    assert gone(2001) == []
    caught(gone(1900), "101 ms before its ttl of 1000 ms was over")
    caught(gone(99_999, ASKED), "no such command")
    torn = Seen(
        observer="ws", forgotten_ms=2001, chunks=[data(1, 0, 48), data(1, 64, 100)], whole=()
    )
    caught(judge(torn, asked=asked), "lost: 64 follows 48")


@pytest.mark.parametrize(
    "deaths, ended_ms, reason, words",
    [
        ([1500], None, "keeper lost", None),
        ([1500], 1400, "keeper lost", None),  # it had ended, and the keeper had not seen that
        ([], None, "keeper lost", "no keeper was lost"),
        ([900], None, "keeper lost", "no keeper was lost"),  # before it was asked for
        ([99_000], 1400, "keeper lost", "no keeper was lost"),  # long after its end
        ([1500], None, "", "without a reason"),
    ],
)
def test_lost_needs_a_lost_keeper(deaths, ended_ms, reason, words):
    asked = copy.deepcopy(ASKED)
    asked.asked_ms = 1000
    record = parse_record(
        "begin 5 1010\nmay1 100 0\ndid1 100 0\n" + (f"exit 3 {ended_ms}\n" if ended_ms else "")
    )
    lost = truth(state="lost", exit_code=None, reason=reason, extents=None, chunks=[data(1, 0, 64)])
    wrong = judge(lost, asked=asked, record=record, faults=Faults(keepers_killed=deaths))
    if words is None:
        assert wrong == []
    else:
        caught(wrong, words)


def test_a_stop_does_not_kill_what_its_keeper_took_along():
    asked = copy.deepcopy(ASKED)
    asked.asked_ms = 1000
    record = parse_record("begin 5 1010\nmay1 100 0\n")
    stopped = truth(
        state="killed", exit_code=None, signal=9, by="sandbox stop", extents=None, chunks=None
    )
    assert judge(stopped, asked=asked, record=record, faults=Faults(stops=[(1200, 1300)])) == []
    caught(
        judge(stopped, asked=asked, record=record, faults=Faults(stops=[(800, 900)])),
        "did not kill it",
    )
    caught(
        judge(
            stopped,
            asked=asked,
            record=record,
            faults=Faults(stops=[(1600, 1700)], keepers_killed=[1500]),
        ),
        "did not kill it",
    )


def test_a_command_without_a_word_of_its_own_began_when_the_daemon_says():
    """Asked for before its sandbox's keeper was killed, started in the sandbox's next life, stopped
    before it wrote anything."""
    asked = copy.deepcopy(ASKED)
    asked.asked_ms = 1000
    faults = Faults(stops=[(1600, 1700)], keepers_killed=[1100])

    def stopped(started_ms):
        return judge(
            truth(
                state="killed",
                exit_code=None,
                signal=9,
                by="sandbox stop",
                extents=None,
                chunks=None,
                started_ms=started_ms,
            ),
            asked=asked,
            record=None,
            faults=faults,
        )

    assert stopped(1500) == []
    caught(stopped(1050), "did not kill it")
    caught(stopped(1800), "did not kill it")
    caught(stopped(None), "did not kill it")
