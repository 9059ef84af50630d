"""Instructions: how many instructions the daemon executes for a request, counted by callgrind.

Callgrind simulates the processor, so it needs no counter of the hardware, which virtual machines
often lack. The same program makes the same count on any machine, within some percent: the daemon
may read its sockets in more or fewer pieces. Only the daemon itself is simulated. The launcher, the
keepers and what they start run as always, so it does not see what they take."""
import pathlib
import re
import shutil
import tempfile
import time

# Callgrind writes what it has counted when the daemon comes here. No other request does.
MARK = "/api/v1/volumes"
MARK_FUNCTION = (
    "cay::api::native::list_volumes(cay::core::Cay&, std::shared_ptr<cay::http::Exchange>)"
)
DUMP_LIMIT_S = 60


def is_there():
    return shutil.which("valgrind") is not None


class Instructions:
    """Runs a daemon under callgrind for the time. `daemon` was started before as it is."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="cay-instructions-"))
        self.seen = set()

    def __enter__(self):
        self.place.chmod(0o777)  # the daemon is a user of its own
        # Its other processes go on, and are not simulated.
        self.daemon.kill()
        self.daemon.prefix = [
            "valgrind",
            "-q",
            "--tool=callgrind",
            f"--callgrind-out-file={self.place}/out",
            f"--dump-before={MARK_FUNCTION}",
        ]
        self.daemon.start()
        return self

    def __exit__(self, *_):
        self.daemon.kill()  # callgrind's end takes long
        self.daemon.prefix = []
        self.daemon.start()
        shutil.rmtree(self.place, ignore_errors=True)

    def since(self, api):
        """Returns the instructions since the last call."""
        api.call("GET", MARK)
        end = time.monotonic() + DUMP_LIMIT_S
        while time.monotonic() < end:
            for path in set(self.place.iterdir()) - self.seen:
                found = re.search(r"^totals: (\d+)", path.read_text(errors="replace"), re.M)
                if found:  # it is written whole
                    self.seen.add(path)
                    return int(found.group(1))
            time.sleep(0.02)
        raise RuntimeError("callgrind wrote no count: does the release have its symbols?")
