#!/usr/bin/env python3
"""Writes cay(1) from the program's own help: packaging/manpage.py CAY VERSION > cay.1"""
import re
import subprocess
import sys


def help_of(cay, *command):
    done = subprocess.run([cay, *command, "--help"], capture_output=True, text=True, check=True)
    return done.stdout.strip("\n")


def escaped(line):
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + line if line.startswith((".", "'")) else line


def verbatim(text):
    return ".nf\n" + "\n".join(escaped(line) for line in text.splitlines()) + "\n.fi\n"


def main():
    cay, version = sys.argv[1:3]
    top = help_of(cay)
    # Subcommands are the indented first words after the line that announces them.
    commands = re.findall(
        r"^  ([a-z][a-z-]+)\s{2,}\S",
        top[re.search(r"^(Sub)?commands:", top, re.M | re.I).end() :],
        re.M,
    )
    print(f'.TH CAY 1 "" "cay {version}" "User Commands"')
    print(".SH NAME\ncay \\- isolated Linux computers for agents, on this machine")
    print(".SH SYNOPSIS\n.B cay\nCOMMAND [OPTIONS]")
    print(".SH DESCRIPTION\n" + verbatim(top), end="")
    print(".SH COMMANDS")
    for command in dict.fromkeys(commands):
        print(f".SS cay {escaped(command)}\n" + verbatim(help_of(cay, command)), end="")
    print(
        ".SH FILES\n"
        ".TP\n"
        "/etc/cay/cay.toml\n"
        "settings of the daemon\n"
        ".TP\n"
        "/var/lib/cay\n"
        "its state and the sandboxes' disks"
        "\n.TP\n/run/cay\nlocks of uid ranges, shared by all instances of the host"
    )
    print(".SH SEE ALSO\nThe documents in /usr/share/doc/cay.")


main()
