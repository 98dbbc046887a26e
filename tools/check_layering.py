#!/usr/bin/env python3
"""Fails when a file under src/ includes a room that stands below its own in the list of CMakeLists.txt.

Usage: check_layering.py SOURCE_DIR
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
cmake = (root / "CMakeLists.txt").read_text()
rooms = re.search(r"set\(FIREBRICK_ROOMS\s+(.*?)\)", cmake, re.S).group(1).split()
rank = {room: i for i, room in enumerate(rooms)}
include = re.compile(r'^\s*#\s*include\s+"([a-z_0-9]+)/')
bad = []
for path in sorted((root / "src").rglob("*")):
    if path.suffix not in {".h", ".cc", ".cu", ".cuh"}:
        continue
    room = path.relative_to(root / "src").parts[0]
    if room not in rank:
        bad.append(f"{path}: the room '{room}' is not in FIREBRICK_ROOMS")
        continue
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = include.match(line)
        if not match:
            continue
        target = match.group(1)
        if target not in rank:
            bad.append(f"{path}:{number}: includes unknown room '{target}'; write the path from src/")
        elif rank[target] > rank[room]:
            bad.append(f"{path}:{number}: room '{room}' includes '{target}', which stands below it")
print("\n".join(bad) or f"layering: {len(rooms)} rooms, no upward include")
sys.exit(1 if bad else 0)
