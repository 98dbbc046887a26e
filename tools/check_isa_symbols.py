#!/usr/bin/env python3
"""Fails when an object compiled for a higher instruction set level defines a symbol that a lower level shares.

The linker keeps one copy of an inline function for the whole program. If that copy came from an AVX-512 object, a
machine without AVX-512 would die of an illegal instruction far away from any kernel. So every symbol that such an
object defines must carry the level's name (namespace firebrick::avx512, or a template over its lanes).

Usage: check_isa_symbols.py ARCHIVE LEVEL...
"""
import subprocess
import sys

archive, levels = sys.argv[1], sys.argv[2:]
listing = subprocess.run(["nm", "--defined-only", "-A", archive], capture_output=True, text=True, check=True).stdout
bad, seen = [], {level: 0 for level in levels}
for line in listing.splitlines():
    place, symbol = line.rsplit(" ", 1)
    for level in levels:
        if f"_{level}.cc.o:" not in place:
            continue
        seen[level] += 1
        kind = place.rsplit(" ", 1)[1]
        if kind.isupper() and level not in symbol and not (level == "amx" and "avx512" in symbol):
            bad.append(f"{place} {symbol}")
missing = [level for level in levels if seen[level] == 0]
for level in missing:
    bad.append(f"{archive} holds no object of level {level}")
print("\n".join(bad) or f"{archive}: {sum(seen.values())} symbols, none shared with a lower level")
sys.exit(1 if bad else 0)
