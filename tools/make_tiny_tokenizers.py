#!/usr/bin/env python3
"""Writes src/text/testdata: tiny tokenizers, one per kind of pipeline, and what Hugging Face's tokenizers makes of
a set of texts with them. Needs PyPI: tokenizers==0.23.3. Usage: make_tiny_tokenizers.py
"""
import json
import pathlib
import random

from compare_tokenizers import LONG, make_string, real_lines
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

OUT = pathlib.Path(__file__).resolve().parent.parent / "src/text/testdata"
A = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
C = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
     r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
     r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = ("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
            "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+")
TEMPLATE = dict(single="<s> $A", special_tokens=[("<s>", 0)])


def isolated(regex):
    return pre_tokenizers.Split(Regex(regex), "isolated")


def byte_level(*regexes):
    return pre_tokenizers.Sequence([*map(isolated, regexes),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def corpus():
    return [line for line in real_lines() if len(line) < 300][:6000]


def train(normalizer, pre_tokenizer, decoder, size, byte_fallback=False, specials=("<s>", "</s>")):
    model = models.BPE(byte_fallback=byte_fallback, fuse_unk=byte_fallback, unk_token="<unk>" if byte_fallback else None)
    tokenizer = Tokenizer(model)
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoder
    special = list(specials)
    if byte_fallback:
        special += ["<unk>"] + [f"<0x{i:02X}>" for i in range(256)]
    alphabet = [] if byte_fallback else pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False,
                                  max_token_length=12)
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def finish(tokenizer, edit=None):
    tokenizer.post_processor = processors.TemplateProcessing(**TEMPLATE)
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = [t for t in data["added_tokens"] if not t["content"].startswith("<0x")]
    if edit:
        edit(data)
    return data


def llama3():
    tokenizer = train(None, byte_level(A), decoders.ByteLevel(), 900)
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken("<think>", normalized=False), AddedToken("<|tool|>", normalized=False)])
    return finish(tokenizer, lambda d: d["model"].update(ignore_merges=True))


def qwen():
    tokenizer = train(normalizers.NFC(), byte_level(A.replace("{1,3}", "")), decoders.ByteLevel(), 900)
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken("caf\u00e9", normalized=True), AddedToken("in", single_word=True, normalized=False),
                          AddedToken("<L>", lstrip=True, normalized=False), AddedToken("<R>", rstrip=True, normalized=False)])
    return finish(tokenizer)


def gpt4o():
    return finish(train(None, byte_level(C), decoders.ByteLevel(), 900))


def deepseek():
    pre = byte_level(r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", DEEPSEEK)
    tokenizer = train(normalizers.Sequence([]), pre, decoders.ByteLevel(), 900)
    tokenizer.add_tokens(["<\uff5cUser\uff5c>", "<\uff5cAssistant\uff5c>"])
    return finish(tokenizer)


def smollm():
    pre = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                   pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    return finish(train(None, pre, decoders.ByteLevel(), 900))


def prefix_space():
    pre = pre_tokenizers.Sequence([pre_tokenizers.Split(" ", "merged_with_next"),
                                   pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=True)])
    return finish(train(normalizers.Strip(), pre, decoders.ByteLevel(), 700))


def llama2():
    normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                 decoders.Strip(" ", 1, 0)])
    tokenizer = train(normalizer, pre_tokenizers.Split("\u2581", "merged_with_next"), decoder, 900, byte_fallback=True)
    tokenizer.add_tokens([AddedToken("<|im_start|>", normalized=True)])
    return finish(tokenizer, lambda d: d.update(pre_tokenizer=None))


def gemma():
    decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer = train(normalizers.Replace(" ", "\u2581"), pre_tokenizers.Split(" ", "merged_with_previous"), decoder, 700,
                      byte_fallback=True)
    tokenizer.add_tokens([AddedToken("\n\n", normalized=False), AddedToken("\n\n\n", normalized=False)])
    tokenizer.add_special_tokens(["<end_of_turn>"])
    return finish(tokenizer)


def metaspace():
    pre = pre_tokenizers.Metaspace("\u2581", "first", True)
    decoder = decoders.Sequence([decoders.Metaspace("\u2581", "first", True), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer = train(None, pre, decoder, 700, byte_fallback=True)
    tokenizer.add_special_tokens(["<|im_end|>"])
    return finish(tokenizer)


def regexes():
    """Expressions that run in PCRE2, and the other behaviours of Split."""
    pre = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r"[a-z]+|\d{2}"), "merged_with_previous"),
                                   pre_tokenizers.Split(Regex(r"[\s,;]"), "merged_with_next"),
                                   pre_tokenizers.Split(Regex(r"#+"), "removed"),
                                   pre_tokenizers.Split(Regex(r"\w+"), "contiguous", invert=True),
                                   pre_tokenizers.Digits(individual_digits=False),
                                   pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return finish(train(normalizers.NFKC(), pre, decoders.ByteLevel(), 700))


def goldens(data, rng):
    tokenizer = Tokenizer.from_str(json.dumps(data))
    added = [t["content"] for t in data["added_tokens"]]
    lines = [line for line in real_lines() if len(line) < 120]
    texts = ["", " ", "Hello world", "  two  spaces ", "caf\u00e9 cafe\u0301", "a<L>b <L> c<R>  d", "in inside (in) in_"]
    texts += ["<s>\n<|im_start|> <|im_end|>", "\n\n\n\n x\n\n"] + [unit * 60 for unit in LONG]
    texts += [make_string(rng, added, lines)[:160] for _ in range(150)]
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    rows = []
    for text in texts:
        row = {"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids,
               "with_special": tokenizer.encode(text, add_special_tokens=True).ids}
        tokenizer.encode_special_tokens = True
        row["no_special"] = tokenizer.encode(text, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = False
        rows.append(row)
    decodes = [row["ids"] for row in rows[::3]]
    decodes += [[rng.randrange(min(size, 300)) for _ in range(rng.randint(1, 9))] for _ in range(60)]
    decodes += [[rng.randrange(size) for _ in range(rng.randint(1, 9))] for _ in range(30)]
    for ids in decodes:
        rows.append({"decode": ids, "full": tokenizer.decode(ids, skip_special_tokens=False),
                     "skipped": tokenizer.decode(ids, skip_special_tokens=True)})
    return rows


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for make in (llama3, qwen, gpt4o, deepseek, smollm, prefix_space, llama2, gemma, metaspace, regexes):
        data = make()
        name = make.__name__
        (OUT / f"{name}.tokenizer.json").write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
        rows = goldens(data, random.Random(name))
        text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
        (OUT / f"{name}.golden.jsonl").write_text(text, encoding="utf-8")
        print(name, len(rows), "rows")


if __name__ == "__main__":
    main()
