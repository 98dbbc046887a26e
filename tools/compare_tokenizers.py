#!/usr/bin/env python3
"""Compares `firebrick tokenize` with Hugging Face's tokenizers and with llama.cpp's vectors; 0 mismatches wanted.

For each tokenizer of ../shared/data/tokenizers: at least --count generated strings (scripts of the world, emoji
sequences, control characters, marks, mixed whitespace, digits, code, look-alikes of special tokens, 1 MB of one
letter) are encoded plainly, with --add-special and with --no-special, and decoded with and without special tokens;
random id lists are decoded too. For each GGUF vocabulary of ../shared/data/tokenizer-vectors: its .inp and .out.

Usage: compare_tokenizers.py [--binary build/release/firebrick] [--data ../shared/data] [--count 10000]
       [--only NAME] [--seed N]
Makes its own environment below ~/.cache/firebrick-tools (PyPI: tokenizers). Exit code 1 on any mismatch.
"""
import argparse
import json
import lzma
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = pathlib.Path.home() / ".cache/firebrick-tools/venv"
BORDER = "\n__ggml_vocab_test__\n"


def enter_environment():
    """Runs this script again in its own environment where tokenizers is missing here."""
    try:
        import tokenizers  # noqa: F401
    except ImportError:
        if os.environ.get("FIREBRICK_TOOLS_VENV"):
            raise
        python = VENV / "bin/python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "tokenizers"], check=True)
        os.execve(python, [str(python), *sys.argv], {**os.environ, "FIREBRICK_TOOLS_VENV": "1"})


# First and last code points of blocks: Latin to Yi, CJK, Hangul, presentation forms, the supplementary scripts.
BLOCKS = [(0x20, 0x7e), (0xa0, 0x24f), (0x250, 0x2af), (0x370, 0x3ff), (0x400, 0x52f), (0x530, 0x58f), (0x590, 0x5ff),
          (0x600, 0x6ff), (0x700, 0x7bf), (0x7c0, 0x85f), (0x8a0, 0x8ff), (0x900, 0x97f), (0x980, 0x9ff),
          (0xa00, 0xa7f), (0xa80, 0xaff), (0xb00, 0xb7f), (0xb80, 0xbff), (0xc00, 0xc7f), (0xc80, 0xcff),
          (0xd00, 0xd7f), (0xd80, 0xdff), (0xe00, 0xe7f), (0xe80, 0xeff), (0xf00, 0xfff), (0x1000, 0x109f),
          (0x10a0, 0x10ff), (0x1100, 0x11ff), (0x1200, 0x139f), (0x13a0, 0x13ff), (0x1400, 0x167f), (0x1680, 0x16ff),
          (0x1700, 0x17ff), (0x1800, 0x18af), (0x1900, 0x1a1f), (0x1a20, 0x1aaf), (0x1b00, 0x1c4f), (0x1c50, 0x1cff),
          (0x1d00, 0x1dff), (0x1e00, 0x1fff), (0x2000, 0x206f), (0x2070, 0x20cf), (0x2100, 0x214f), (0x2150, 0x218f),
          (0x2190, 0x23ff), (0x2460, 0x27bf), (0x2800, 0x2bff), (0x2c00, 0x2dff), (0x2e00, 0x2fff), (0x3000, 0x303f),
          (0x3040, 0x30ff), (0x3100, 0x33ff), (0x3400, 0x4dbf), (0x4e00, 0x9fff), (0xa000, 0xa4cf), (0xa4d0, 0xa6ff),
          (0xa700, 0xabff), (0xac00, 0xd7a3), (0xf900, 0xfaff), (0xfb00, 0xfdff), (0xfe20, 0xfeff), (0xff00, 0xffef),
          (0x10000, 0x101ff), (0x10280, 0x104ff), (0x10800, 0x10fff), (0x11000, 0x11fff), (0x12000, 0x123ff),
          (0x13000, 0x1342f), (0x16a00, 0x16fff), (0x17000, 0x18aff), (0x1b000, 0x1b2ff), (0x1d000, 0x1d7ff),
          (0x1e000, 0x1efff), (0x1f000, 0x1faff), (0x20000, 0x2a6df), (0x2f800, 0x2fa1f), (0x30000, 0x323af),
          (0xe0001, 0xe01ef), (0xe000, 0xf8ff)]
SPACES = [" ", "  ", "\t", "\n", "\r", "\r\n", "\n\n", "\u00a0", "\u2003", "\u3000", "\u0085", "\u2028", "\u180e",
          "\u200b", "\x0b", "\x0c", "\u1680", "\ufeff", "   ", "\u2581"]
EMOJI = ["😀", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "🇺🇳🇬", "❤️", "1️⃣", "🧑🏿‍🚀", "👁️‍🗨️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "☃", "🫠", "#️⃣", "🤷🏻‍♂️"]
CONTRACTIONS = ["'s", "'S", "'t", "'re", "'VE", "'m", "'lL", "'d", "'ſ", "'ll", "’s", "''s", "'x", "'"]
LONG = ["a", " ", "\n", "0", "中", "😀", "ab", "é", "A", "aB", "Aa", " a", "\u0301", "\u0316\u0301", "'s", "()", "\t ", "\x00", "▁"]


def char_of_block(rng, block):
    return chr(rng.randint(*block))


def make_word(rng):
    block = rng.choice(BLOCKS)
    return "".join(char_of_block(rng, block) for _ in range(rng.randint(1, 8)))


def make_number(rng):
    zero = rng.choice([0x30] * 6 + [0x660, 0x966, 0xff10, 0x1d7ce, 0x2460, 0xbc])
    digits = "".join(chr(zero + rng.randint(0, 9 if zero != 0xbc else 2)) for _ in range(rng.randint(1, 9)))
    return rng.choice(["", "-", "+", "$", "0x", "."]) + digits


def make_marks(rng):
    marks = [0x300, 0x301, 0x308, 0x316, 0x323, 0x327, 0x345, 0x5b0, 0x64b, 0x93c, 0x3099, 0xe48, 0x1dc4, 0x20d0]
    base = rng.choice("aeiouAEOU\u1100\u1161\u11a8\u304b\u0915") if rng.random() < 0.8 else make_word(rng)
    return base + "".join(chr(rng.choice(marks) + rng.randint(0, 3)) for _ in range(rng.randint(1, 5)))


def make_lookalike(rng, added):
    token = rng.choice(added)
    way = rng.randint(0, 9)
    if way <= 4:
        return token
    if way == 5:
        return token[:rng.randint(1, len(token))]
    if way == 6:
        return token[rng.randint(0, len(token) - 1):]
    if way == 7:
        at = rng.randint(0, len(token))
        return token[:at] + rng.choice([" ", "\u200b", "|", "<"]) + token[at:]
    if way == 8:
        return token.upper()
    return token + token[rng.randint(0, len(token) - 1):]


def make_string(rng, added, lines):
    way = rng.random()
    if way < 0.12:
        return rng.choice(lines)
    if way < 0.2:
        return "".join(chr(rng.choice([rng.randint(0, 0x7f), rng.randint(0, 0x9f)])) for _ in range(rng.randint(0, 40)))
    if way < 0.25:
        codes = (rng.randint(0, 0x10ffff) for _ in range(rng.randint(1, 12)))
        return "".join(chr(c) for c in codes if not 0xd800 <= c < 0xe000)
    makers = [lambda: make_word(rng), lambda: rng.choice(SPACES), lambda: rng.choice(EMOJI), lambda: make_number(rng),
              lambda: make_marks(rng), lambda: rng.choice(CONTRACTIONS), lambda: make_lookalike(rng, added),
              lambda: rng.choice(lines)[:rng.randint(1, 40)], lambda: chr(rng.randint(0, 0x1f)),
              lambda: rng.choice(["the", " Hello", "World", "camelCase", "HTTPServer", "ǅ", "ǈa", "été", "Straße", "ΑΒγ"]),
              lambda: rng.choice("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~¡§«»€±×…“”") * rng.randint(1, 5)]
    favourites = [rng.choice(makers) for _ in range(rng.randint(1, 4))]
    return "".join(rng.choice(favourites)() for _ in range(rng.randint(1, 14)))


def real_lines():
    """Code of Python's own library, and licence texts."""
    lines = []
    files = sorted(pathlib.Path(os.__file__).parent.glob("*.py"))[:40]
    files += sorted(pathlib.Path("/usr/share/common-licenses").glob("*"))
    for path in files:
        lines += path.read_text(encoding="utf-8", errors="ignore").split("\n")
    return [line for line in lines if line] + ["\n".join(lines[i:i + 12]) for i in range(0, 4000, 12)]


def run_lines(binary, path, arguments, lines):
    """One JSON value a line through the binary."""
    payload = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    done = subprocess.run([binary, "tokenize", str(path), "--jsonl", *arguments], input=payload.encode(),
                          stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.decode().split("\n") if line]


class Tally:
    def __init__(self, name):
        self.name, self.checked, self.wrong = name, 0, 0

    def compare(self, what, inputs, ours, theirs):
        if len(ours) != len(theirs):
            self.wrong += 1
            print(f"  {self.name} {what}: {len(ours)} results for {len(theirs)} inputs")
        for given, mine, right in zip(inputs, ours, theirs):
            self.checked += 1
            if mine == right:
                continue
            self.wrong += 1
            if self.wrong <= 8:
                print(f"  {self.name} {what}: {given[:60]!r}\n    ours   {mine[:40]}\n    theirs {right[:40]}")


def compare_json(binary, folder, count, seed):
    from tokenizers import Tokenizer
    started = time.time()
    tally = Tally(folder.name)
    rng = random.Random(f"{seed}/{folder.name}")
    with tempfile.TemporaryDirectory() as temp:
        path = pathlib.Path(temp) / "tokenizer.json"
        path.write_bytes(lzma.open(folder / "tokenizer.json.xz").read())
        theirs = Tokenizer.from_file(str(path))
        theirs.no_truncation()
        theirs.no_padding()
        added = [t["content"] for t in json.loads(path.read_text(encoding="utf-8"))["added_tokens"]]
        lines = real_lines()
        texts = added + [make_string(rng, added, lines) for _ in range(count)]
        texts += [(unit * (1_000_000 // len(unit.encode())))[:1_000_000] for unit in LONG]

        def ids_of(some, special):
            return [e.ids for e in theirs.encode_batch_fast(some, add_special_tokens=special)]

        plain = ids_of(texts, False)
        tally.compare("encode", texts, run_lines(binary, path, [], texts), plain)
        some = texts[:len(added) + count // 4]
        tally.compare("--add-special", some, run_lines(binary, path, ["--add-special"], some), ids_of(some, True))
        some = texts[:len(added) + count]
        theirs.encode_special_tokens = True
        tally.compare("--no-special", some, run_lines(binary, path, ["--no-special"], some), ids_of(some, False))
        theirs.encode_special_tokens = False
        size = theirs.get_vocab_size(with_added_tokens=True)
        low = [i for i in range(min(size, 600))]
        lists = plain[:len(added) + count]
        lists += [[rng.randrange(size) for _ in range(rng.randint(1, 12))] for _ in range(count // 2)]
        lists += [[rng.choice(low) for _ in range(rng.randint(1, 12))] for _ in range(count // 2)]
        for arguments, skip in ([], False), (["--no-special"], True):
            texts_back = theirs.decode_batch(lists, skip_special_tokens=skip)
            ours = run_lines(binary, path, ["--decode", *arguments], lists)
            tally.compare(f"decode{' '.join(arguments)}", lists, ours, texts_back)
    print(f"{tally.name}: {tally.checked} compared, {tally.wrong} mismatches ({time.time() - started:.0f} s)", flush=True)
    return tally.wrong


def compare_vectors(binary, data):
    """GGUF vocabularies against llama.cpp's ids; two vector files belong to tokenizer.json files."""
    wrong = 0
    stand_ins = {"llama-bpe": "llama3_1", "qwen2": "qwen3"}
    for inputs in sorted((data / "tokenizer-vectors").glob("*.gguf.inp")):
        name = inputs.name.removeprefix("ggml-vocab-").removesuffix(".gguf.inp")
        with tempfile.TemporaryDirectory() as temp:
            vocabulary = inputs.with_suffix("")
            if not vocabulary.exists():
                if name not in stand_ins:
                    print(f"{name}: no vocabulary here, vectors not run")
                    continue
                vocabulary = pathlib.Path(temp) / "tokenizer.json"
                vocabulary.write_bytes(lzma.open(data / "tokenizers" / stand_ins[name] / "tokenizer.json.xz").read())
            texts = inputs.read_text(encoding="utf-8").split(BORDER)
            rows = inputs.with_suffix(".out").read_text().split("\n")
            expected = [[int(i) for i in row.split()] for row in rows[:len(texts)]]
            tally = Tally(f"vectors {name}")
            tally.compare("encode", texts, run_lines(binary, vocabulary, [], texts), expected)
            print(f"{tally.name}: {tally.checked} compared, {tally.wrong} mismatches", flush=True)
            wrong += tally.wrong
    return wrong


def main():
    enter_environment()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/release/firebrick"))
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--only", help="one tokenizer, or 'vectors'")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if not args.data.exists():
        print(f"{args.data} is not here; nothing was compared")
        return 0
    wrong = 0
    if args.only in (None, "vectors"):
        wrong += compare_vectors(args.binary, args.data)
    for folder in sorted((args.data / "tokenizers").iterdir()):
        if args.only in (None, folder.name):
            wrong += compare_json(args.binary, folder, args.count, args.seed)
    print(f"total: {wrong} mismatches")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
