"""Files up and down through the native API: 1 KiB, 1 MiB and 1 GiB."""

QUICK = 64 << 20  # the largest of a quick run
SIZES = {"1 KiB": (1 << 10, 100), "1 MiB": (1 << 20, 30), "1 GiB": (1 << 30, 3)}


def measure(at):
    with at.box(limits={"disk_bytes": 4 << 30, "memory_bytes": 1 << 30}) as box:
        for size, (wanted, count) in SIZES.items():
            number = wanted
            if at.quick and wanted > QUICK:
                size, number = "64 MiB", QUICK
            for verb in ("upload", "download"):
                got = at.client(verb, sandbox=box, bytes=number, count=at.count(count, 3), warm=1)
                row = at.add(f"file {verb}: {size}", got["microseconds"], bytes=number)
                row["mb_per_s"] = number / row["p50"] / 1e3
                if wanted >= 1 << 20:
                    at.told(f"  {row['mb_per_s']:.0f} MB/s")
