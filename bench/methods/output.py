"""The output of one command, read as it comes: native frames, and LangSmith's JSON."""


def measure(at):
    bytes_ = at.count(256 << 20, 64 << 20)
    with at.box(limits={"disk_bytes": 4 << 30}) as box:
        for name, method, size in (
            ("native", "stream", bytes_),
            ("LangSmith JSON", "stream_langsmith", bytes_ // 2),
        ):
            got = at.client(method, sandbox=box, bytes=size, count=at.count(5, 2))
            row = at.add(f"streamed output: {name}", got["microseconds"], bytes=size)
            row["mb_per_s"] = size / row["p50"] / 1e3
            at.told(f"  {row['mb_per_s']:.0f} MB/s")
