#!/usr/bin/env python3
"""Speed of tokenising 1 MB against Hugging Face's tokenizers: paired, one thread each, CPU time, medians of
--repeats.

Needs build/release/tokenizer_speed. Texts: English (licences), code (Python's library), mixed scripts, one letter.
Usage: bench_tokenizers.py [--binary build/release/tokenizer_speed] [--data ../shared/data] [--repeats 5]
"""
import argparse
import lzma
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time

import compare_tokenizers

SIZE = 1_000_000


def texts():
    rng = random.Random(1)
    english = "".join(p.read_text(errors="ignore") for p in sorted(pathlib.Path("/usr/share/common-licenses").glob("*")))
    code = "".join(p.read_text(errors="ignore") for p in sorted(pathlib.Path(os.__file__).parent.glob("*.py")))
    mixed = "".join(compare_tokenizers.make_word(rng) + rng.choice(compare_tokenizers.SPACES) for _ in range(120_000))
    return {"english": (english * 4)[:SIZE], "code": code[:SIZE], "mixed": mixed[:SIZE // 3], "letter": "a" * SIZE}


def run_ours(binary, model, path):
    line = subprocess.run([binary, str(model), str(path), "1"], stdout=subprocess.PIPE, check=True).stdout.split()
    return float(line[0]), int(line[1])


def main():
    compare_tokenizers.enter_environment()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from tokenizers import Tokenizer
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(compare_tokenizers.ROOT / "build/release/tokenizer_speed"))
    parser.add_argument("--data", type=pathlib.Path, default=compare_tokenizers.ROOT.parent / "shared/data")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temp:
        for folder in sorted((args.data / "tokenizers").iterdir()):
            model = pathlib.Path(temp) / "tokenizer.json"
            model.write_bytes(lzma.open(folder / "tokenizer.json.xz").read())
            for name, text in texts().items():
                path = pathlib.Path(temp) / "text"
                path.write_bytes(text.encode())
                ours, theirs = [], []
                for _ in range(args.repeats):
                    tokenizer = Tokenizer.from_file(str(model))  # anew: its cache of pieces outlives a call
                    begin = time.process_time()
                    count = len(tokenizer.encode(text, add_special_tokens=False).ids)
                    theirs.append((time.process_time() - begin) * 1e3)
                    took, mine = run_ours(args.binary, model, path)
                    assert mine == count, (mine, count)
                    ours.append(took)
                a, b = statistics.median(ours), statistics.median(theirs)
                print(f"{folder.name:12} {name:8} ours {a:8.1f} ms  tokenizers {b:8.1f} ms  ratio {b / a:6.2f}", flush=True)


if __name__ == "__main__":
    main()
