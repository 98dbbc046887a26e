#!/usr/bin/env python3
"""Runs clang-tidy over .cc files of the repository, the most recently changed first.

Usage: tools/tidy.py [--build build/release] [--newest 40] [--jobs N] [FILE...]

A file takes some ten seconds, so the default are the files that the newest commits changed; --newest 0 checks all.
Exits with 1 where something was found.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def newest_first() -> list[str]:
    log = subprocess.run(["git", "log", "--format=", "--name-only", "--", "*.cc"], cwd=ROOT, text=True,
                         stdout=subprocess.PIPE, check=True).stdout
    return list(dict.fromkeys(line for line in log.splitlines() if line))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="build/release", help="folder with compile_commands.json")
    parser.add_argument("--newest", type=int, default=40, metavar="N", help="files; 0 is all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args()
    shallow = subprocess.run(["git", "rev-parse", "--is-shallow-repository"], cwd=ROOT, text=True,
                             stdout=subprocess.PIPE, check=True).stdout.strip()
    if shallow == "true" and options.newest and not options.files:
        print("tidy: nothing checked: a shallow clone does not say which files changed; name them, or --newest 0")
        return
    commands = json.loads((ROOT / options.build / "compile_commands.json").read_text())
    compiled = {os.path.relpath(command["file"], ROOT) for command in commands}
    files = options.files or [file for file in newest_first() if file in compiled][: options.newest or None]
    # clang cannot read the compiler's precompiled headers; without them the includes of each file are checked, too.
    for command in commands:
        command["command"] = re.sub(r"-Winvalid-pch -include \S+cmake_pch\.hxx", "", command["command"])
    plain = tempfile.TemporaryDirectory()
    (pathlib.Path(plain.name) / "compile_commands.json").write_text(json.dumps(commands))
    bad = []

    def check(file: str) -> None:
        found = subprocess.run(["clang-tidy-14", "-p", plain.name, "--quiet", "--extra-arg=-Wno-unknown-warning-option", file], cwd=ROOT, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if found.returncode != 0:
            bad.append(file)
            print(found.stdout or found.stderr, flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(check, files))
    print(f"tidy: {len(files)} of {len(compiled)} files checked; {len(bad)} with findings")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
