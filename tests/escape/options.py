"""What `tests/escape/run` takes: apart, so that --help needs nothing of what the suite does.

CAY_BUILD names a build to be tried (build/release); without it what is missing is installed and
built first, for --list, too.
"""
import argparse
import pathlib


def parsed(about=__doc__):
    asked = argparse.ArgumentParser(
        prog="tests/escape/run",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples:\n"
        "  tests/escape/run                        every attack with its exact control\n"
        "  tests/escape/run --short dns 'fence-*'  a class and some rows, without what takes long\n"
        "  CAY_BUILD=build/release tests/escape/run --list",
    )
    asked.add_argument(
        "rows", nargs="*", metavar="ROW", help="names or patterns, also of classes; absent: all"
    )
    asked.add_argument("--short", action="store_true", help="leave out what takes long")
    asked.add_argument(
        "--core", action="store_true", help="three rows of each class and attacker; implies --short"
    )
    asked.add_argument("--list", action="store_true", help="the rows, and how many; tries none")
    asked.add_argument(
        "--report",
        type=lambda path: pathlib.Path(path).absolute(),
        help="write the table there too",
    )
    asked.add_argument(
        "--prove",
        action="store_true",
        help="then break the product in several ways and see that the suite turns red",
    )
    asked.add_argument(
        "--holes",
        action=argparse.BooleanOptionalAction,
        help="compile the daemon with its checks taken out (holes.py), and try each attack on one "
        "that lacks "
        "what holds it (unless --short); else the control of such a row is a request that meets "
        "the check",
    )
    options = asked.parse_args()
    options.short = options.short or options.core
    return options


if __name__ == "__main__":
    parsed()
