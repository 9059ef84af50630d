"""Bugs put between the daemon and a client's eyes: what the checker must catch.

They sit where frames arrive, never in the product. Offsets are mended so that only the bytes tell.
"""


class Tamper:
    """Leaves everything as it is; the bugs below change one thing, once."""

    def __init__(self):
        self.shift = {1: 0, 2: 0}
        self.done = False

    def data(self, stream, offset, data):
        offset += self.shift[stream]
        if self.done or stream != 1 or len(data) < 64:
            return [(offset, data)]
        changed = self.change(data)
        if changed is None:
            return [(offset, data)]
        self.done = True
        self.shift[stream] += len(changed) - len(data)
        return [(offset, changed)]

    def change(self, data):
        return None

    def end(self, command):
        return command


class LostBlock(Tamper):
    def change(self, data):
        return data[:16] + data[32:]


class DoubledBlock(Tamper):
    def change(self, data):
        return data[:32] + data[16:]


class SwappedBlocks(Tamper):
    def change(self, data):
        return data[16:32] + data[:16] + data[32:]


class InventedExit(Tamper):
    """The broken connection that is shown as a clean exit."""

    def end(self, command):
        return {**command, "state": "exited", "exit_code": 0, "signal": None, "by": ""}


class TwoEnds(Tamper):
    """Says the truth to the first who asks, and something else to the next."""

    asked = 0

    def end(self, command):
        self.asked += 1
        return (
            command
            if self.asked == 1
            else {
                **command,
                "exit_code": (command["exit_code"] or 0) ^ 1,
                "state": "exited",
                "signal": None,
                "by": "",
            }
        )
