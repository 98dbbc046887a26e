"""scripts/bench-peers without peers: what it reads, whom it compares, and that a failing engine ends only itself."""
import importlib
import json
import pathlib
import stat
import sys

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"

BATCHED = """\
main: n_kv_max = 1424, n_batch = 2048

|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
|    64 |     24 |    1 |     88 |    0.500 |   128.00 |    1.200 |    20.00 |    1.700 |    51.76 |
|    64 |     24 |   16 |   1408 |    8.000 |   128.00 |    6.400 |    60.00 |   14.400 |    97.78 |
llama_perf_context_print: total | 1 |
"""


@pytest.fixture
def peers(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    for name in [n for n in sys.modules if n == "peers" or n.startswith("peers.")]:
        del sys.modules[name]
    return {name: importlib.import_module(name)
            for name in ["peers.measures", "peers.engines", "peers.report", "peers.setups", "bench_peers"]}


def program(path: pathlib.Path, text: str) -> pathlib.Path:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def prints(path: pathlib.Path, text: str) -> pathlib.Path:
    return program(path, f"cat <<'END'\n{text}\nEND\n")


def test_table_of_batched_bench(peers):
    rows = peers["peers.engines"].read_batched_table(BATCHED)
    assert [(r["pp"], r["tg"], r["pl"], r["speed_pp"], r["speed_tg"]) for r in rows] == [
        (64, 24, 1, 128.0, 20.0), (64, 24, 16, 128.0, 60.0)]


def test_jobs_serve_every_measure_once(peers):
    measures = peers["peers.measures"]
    wanted = measures.plan(512, 64, 24, [1, 16], [8192])
    assert [m.name for m in wanted] == ["prefill 512", "decode 1 stream", "decode 16 streams", "prefill 8192",
                                        "decode 1 stream after 8192"]
    short, long = measures.jobs(wanted)
    assert (short.prompt, short.context, short.streams, short.long) == (512, 64, [1, 16], False)
    assert (long.prompt, long.context, long.streams, long.long) == (0, 8192, [1], True)
    assert list(measures.named(short, 5.0, {1: 1.0, 16: 2.0})) == [m.name for m in wanted[:3]]
    assert list(measures.named(long, 5.0, {1: 1.0})) == [m.name for m in wanted[3:]]


def test_ratio_is_over_the_best_median(peers):
    rounds = [{"firebrick": {"p": 10.0}, "a": {"p": 5.0}, "b": {"p": 1.0}},
              {"firebrick": {"p": 12.0}, "a": {"p": 4.0}, "b": {"p": 90.0}},
              {"firebrick": {"p": 11.0}, "a": {"p": 6.0}}]
    entry = peers["peers.report"].summary(rounds, {"a": {"p": "-x"}})["p"]
    assert entry["best_peer"] == "b" and entry["engines"]["b"]["median"] == 45.5
    rounds[1]["b"]["p"] = 2.0
    entry = peers["peers.report"].summary(rounds, {"a": {"p": "-x"}})["p"]
    assert (entry["best_peer"], entry["ratio"], entry["ratio_range"]) == ("a", 11 / 5, [11 / 6, 3.0])
    shown = peers["peers.report"].table("m", {"p": entry}, ["firebrick", "a", "b"])
    assert "| p | 11.0 | **5.00** (-x) | 1.50 | 2.20 (1.83 to 3.00) |" in shown


def test_whole_run_over_stand_ins(peers, tmp_path, monkeypatch, capsys):
    ours = prints(tmp_path / "firebrick", json.dumps({"prefill_tps": 300.0, "streams": [
        {"streams": 1, "decode_tps": 25.0, "context_tps": 1.0}, {"streams": 16, "decode_tps": 90.0, "context_tps": 1.0}]}))
    binaries = tmp_path / "llama.cpp" / "build" / "bin"
    binaries.mkdir(parents=True)
    # Slower without flash attention, so that variant is not taken; it notes how often each was run.
    program(binaries / "llama-bench", f'echo "$@" >> {tmp_path}/calls\n'
            'case "$*" in *"-fa 0"*) echo \'[{"avg_ts": 100}]\';; *) echo \'[{"avg_ts": 150}]\';; esac\n')
    prints(binaries / "llama-batched-bench", BATCHED)
    model = tmp_path / "model.gguf"
    model.write_bytes(b"")
    peers["bench_peers"].main([str(model), "--rounds", "3", "--streams", "1,16", "--threads", "2", "--folder", str(tmp_path),
                               "--firebrick", str(ours), "--json", str(tmp_path / "out.json")])
    shown = capsys.readouterr().out
    assert "| prefill 512 | 300 | **150** (-fa 1) | 2.00 (2.00 to 2.00) |" in shown
    assert "decode 16 streams | 90.0 | **60.0**" in shown
    assert (tmp_path / "calls").read_text().count("-fa 0") == 1
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["models"]["model"]["decode 1 stream"]["ratio"] == 1.25 and result["threads"] == 2


def test_a_failing_peer_leaves_the_others(peers, tmp_path, capsys):
    ours = prints(tmp_path / "firebrick", json.dumps({"prefill_tps": 300.0, "streams": [
        {"streams": 1, "decode_tps": 25.0, "context_tps": 1.0}]}))
    binaries = tmp_path / "llama.cpp" / "build" / "bin"
    binaries.mkdir(parents=True)
    program(binaries / "llama-bench", "echo no such type >&2; exit 3\n")
    program(binaries / "llama-batched-bench", "exit 1\n")
    model = tmp_path / "model.gguf"
    model.write_bytes(b"")
    peers["bench_peers"].main([str(model), "--rounds", "1", "--streams", "1", "--folder", str(tmp_path),
                               "--firebrick", str(ours)])
    shown = capsys.readouterr()
    assert "| prefill 512 | 300 |  |  |" in shown.out
    assert "exit status 3: no such type" in shown.err


def test_models_that_are_no_models_are_named(peers, tmp_path):
    with pytest.raises(SystemExit, match="neither a .gguf file nor smollm2"):
        peers["peers.setups"].model("llama", tmp_path / "firebrick", tmp_path, None)
