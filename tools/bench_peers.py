#!/usr/bin/env python3
"""Firebrick's speed beside llama.cpp and others: sets the peers up in a folder of its own, runs all engines in turn over
the same model files, and prints medians and ratios. docs/guide/benchmarks.md explains it.

Usage: scripts/bench-peers [MODEL...] [--rounds 5] [--with openvino] [--ik-llama CHECKOUT] [--json FILE]

MODEL is a .gguf file, smollm2, or SHAPE-TYPE of make-model; without one: llama-1b in bf16, q8_0 and q4_0, and smollm2.
"""
import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from peers import measures, report, setups  # noqa: E402
from peers.engines import EngineFailed, Firebrick, Runner  # noqa: E402

DEFAULT_MODELS = ["llama-1b-bf16", "llama-1b-q8_0", "llama-1b-q4_0", "smollm2"]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",") if word]


def path_or_python(text: str) -> pathlib.Path:
    return pathlib.Path(text).expanduser().absolute()  # not resolved: a venv's python is a link


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help="default: " + " ".join(DEFAULT_MODELS))
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="every engine once in each (default 5)")
    parser.add_argument("--prompt", type=int, default=512, metavar="N", help="tokens of the prefill measure (512)")
    parser.add_argument("--context", type=int, default=32, metavar="N", help="tokens before the decoded ones (32)")
    parser.add_argument("--gen", type=int, default=24, metavar="N", help="tokens decoded by each stream (24)")
    parser.add_argument("--streams", type=numbers, default=[1, 4, 8, 16], metavar="N,N", help="decode widths (1,4,8,16)")
    parser.add_argument("--long", type=numbers, default=[], metavar="N,N",
                        help="also prefill of that many tokens and decode after them, such as 8192,32768")
    parser.add_argument("--only-long", action="store_true", help="the measures of --long alone")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), metavar="N", help="of every engine")
    parser.add_argument("--folder", type=path_or_python, default=setups.cache_folder() / "peers",
                        help="where peers are put or found (~/.cache/firebrick/peers)")
    parser.add_argument("--model-folder", type=path_or_python, help="where made models lie (FOLDER/models)")
    parser.add_argument("--tokenizer", type=path_or_python, help="folder whose tokenizer made models get")
    parser.add_argument("--firebrick", type=path_or_python, default=setups.ROOT / "build/release/firebrick", metavar="FILE")
    parser.add_argument("--isa", help="level of ours: avx2, avx512, amx")
    parser.add_argument("--with", dest="also", action="append", default=[], choices=["openvino"],
                        help="installs and measures that peer too")
    parser.add_argument("--without", action="append", default=[], choices=["llama.cpp"], help="leaves that peer out")
    parser.add_argument("--ik-llama", type=path_or_python, metavar="CHECKOUT", help="a checkout of ik_llama.cpp, to be built")
    parser.add_argument("--openvino-python", type=path_or_python, metavar="FILE", help="python with openvino-genai")
    parser.add_argument("--openvino-model", type=path_or_python, metavar="FOLDER", help="an export, instead of the GGUF file")
    parser.add_argument("--vllm-python", type=path_or_python, metavar="FILE", help="python with vllm; needs --vllm-model")
    parser.add_argument("--vllm-model", type=path_or_python, metavar="FOLDER", help="safetensors folder of the same shape")
    parser.add_argument("--lock", type=path_or_python, action="append", default=[], metavar="FILE",
                        help="held (flock) during each round, released between; may be repeated")
    parser.add_argument("--timeout", type=int, default=1800, metavar="S", help="of one run of an engine (1800)")
    parser.add_argument("--json", type=path_or_python, metavar="FILE", help="figures of every round, rewritten after each")
    parser.add_argument("--setup-only", action="store_true", help="puts peers and models there, measures nothing")
    options = parser.parse_args(arguments)
    if (options.openvino_model or options.vllm_model) and len(options.models) != 1:
        parser.error("--openvino-model and --vllm-model stand for one MODEL; name it")
    if bool(options.vllm_python) != bool(options.vllm_model):
        parser.error("--vllm-python and --vllm-model need one another")
    return options


def set_up(options: argparse.Namespace) -> tuple[list, list]:
    """Engines and models. Ours is first."""
    if not options.firebrick.exists():
        sys.exit(f"bench-peers: {options.firebrick} is missing; build it with scripts/build")
    engines = [Firebrick(options.firebrick, options.threads, ["--isa", options.isa] if options.isa else [])]
    if "llama.cpp" not in options.without:
        engines.append(setups.llama_cpp(options.folder, options.threads))
    if options.ik_llama:
        engines.append(setups.ik_llama_cpp(options.ik_llama, options.folder, options.threads))
    if "openvino" in options.also or options.openvino_python or options.openvino_model:
        engines.append(setups.openvino(options.folder, options.openvino_python, options.threads))
    if options.vllm_python:
        engines.append(setups.vllm(options.vllm_python, options.threads))
    models = [setups.model(name, options.firebrick, options.model_folder or options.folder / "models", options.tokenizer)
              for name in options.models or DEFAULT_MODELS]
    for model in models:
        if options.vllm_model:
            model.also["vllm"] = {"": options.vllm_model}
        openvino = next((engine for engine in engines if engine.name == "openvino"), None)
        if openvino:
            model.also["openvino"] = ({"given": options.openvino_model} if options.openvino_model else
                                      setups.openvino_models(model, options.firebrick, openvino.python, options.folder))
    return engines, models


def run_once(engine, model, wanted: list[measures.Measure], variant: str, runner: Runner) -> dict[str, float]:
    figures = {}
    for job in measures.jobs(wanted):
        try:
            figures |= engine.run(model, job, variant, runner)
        except EngineFailed as failure:
            say(f"  no figures: {failure}")
    return figures


def race(engine, model, wanted: list[measures.Measure], runner: Runner) -> tuple[dict[str, float], dict[str, str]]:
    """The first round of an engine: each of its variants runs; ({measure: best figure}, {measure: its variant})."""
    found = {variant: run_once(engine, model, wanted, variant, runner) for variant in engine.variants(model)}
    if len(found) > 1:
        for variant, figures in found.items():
            say(f"  {engine.name} {variant}: {spelled(figures)}")
    chosen = {m.name: max((v for v in found if m.name in found[v]), key=lambda v: found[v][m.name])
              for m in wanted if any(m.name in figures for figures in found.values())}
    return {name: found[variant][name] for name, variant in chosen.items()}, chosen


def rerun(engine, model, wanted: list[measures.Measure], chosen: dict[str, str], runner: Runner) -> dict[str, float]:
    figures = {}
    for variant in dict.fromkeys(chosen.values()):
        mine = [m for m in wanted if chosen.get(m.name) == variant]
        figures |= run_once(engine, model, mine, variant, runner)
    return figures


def spelled(figures: dict[str, float]) -> str:
    return ", ".join(f"{name} {report.spelled(tps)}" for name, tps in figures.items())


def run_rounds(engines: list, model, wanted: list[measures.Measure], options: argparse.Namespace, runner: Runner,
               keep) -> dict[str, dict]:
    """All rounds over one model; `keep` is called with the summary so far."""
    present = [engine for engine in engines if engine.variants(model)]
    chosen, rounds, summary = {}, [], {}
    for number in range(options.rounds):
        rounds.append({})
        turn = number % len(present)  # so that no engine always follows the same one
        with runner.holding_locks():
            for engine in present[turn:] + present[:turn]:
                if number == 0:
                    figures, chosen[engine.name] = race(engine, model, wanted, runner)
                else:
                    figures = rerun(engine, model, wanted, chosen[engine.name], runner)
                rounds[-1][engine.name] = figures
                say(f"{model.name} round {number + 1} {engine.name}: {spelled(figures)}")
        found = report.summary(rounds, chosen)
        summary = {m.name: found[m.name] for m in wanted if m.name in found}
        keep(summary)
    return summary


def cpu_name() -> str:
    lines = subprocess.run(["lscpu"], stdout=subprocess.PIPE, text=True, check=False).stdout.splitlines()
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    value = {key.strip(): text.strip() for key, text in facts.items()}
    return f"{value.get('Model name', platform.processor())}, family {value.get('CPU family')} model {value.get('Model')}"


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    engines, models = set_up(options)
    if options.setup_only:
        return
    short = not options.only_long
    wanted = measures.plan(options.prompt if short else 0, options.context, options.gen, options.streams if short else [],
                           options.long)
    result = {"machine": {"cpu": cpu_name(), "cpus": os.cpu_count(), "kernel": platform.release()},
              "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "threads": options.threads,
              "rounds": options.rounds, "versions": {engine.name: engine.version for engine in engines}, "models": {}}
    runner = Runner(options.timeout, options.lock)
    result["disturbed"] = runner.disturbed

    def keep(model: str, summary: dict[str, dict]) -> None:
        result["models"][model] = summary
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + "\n")

    print(f"{result['machine']['cpu']}; {options.threads} threads; medians of {options.rounds} rounds\n", flush=True)
    for model in models:
        before = len(runner.disturbed)
        summary = run_rounds(engines, model, wanted, options, runner, lambda so_far, name=model.name: keep(name, so_far))
        keep(model.name, summary)
        print(report.table(model.name, summary, [engine.name for engine in engines]) + "\n", flush=True)
        if disturbed := len(runner.disturbed) - before:
            print(f"{disturbed} runs were disturbed by other processes: these figures are low, and not fair.\n", flush=True)


if __name__ == "__main__":
    main()
