"""The command line from outside: help, errors and exit codes. Needs only the built binary."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

from serving import BINARY, MODEL


def firebrick(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60,
                          env={**os.environ, **environment}, check=False)


def commands() -> list[str]:
    overview = firebrick("--help").stdout
    return [line.split()[0] for line in overview.split("[flags]\n\n")[1].split("\n\n")[0].splitlines()]


@pytest.mark.parametrize("command", commands())
def test_help_fits_a_screen_and_shows_an_example(command):
    shown = firebrick(command, "--help")
    assert shown.returncode == 0 and shown.stderr == ""
    lines = shown.stdout.splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 100
    assert f"Usage: firebrick {command}" in shown.stdout
    assert f"firebrick {command}" in shown.stdout.split("\nExample:\n")[1]
    assert firebrick("help", command).stdout == shown.stdout


@pytest.mark.parametrize("command", commands())
def test_unknown_flag_names_the_nearest(command):
    wrong = firebrick(command, "--hlep")
    assert wrong.returncode == 2 and wrong.stdout == ""
    assert wrong.stderr == (f"firebrick {command}: unknown flag '--hlep': did you mean '--help'? "
                            f"(see 'firebrick {command} --help')\n")


def test_unknown_command_names_the_nearest():
    wrong = firebrick("doctro")
    assert wrong.returncode == 2
    assert "did you mean 'doctor'?" in wrong.stderr


def test_without_arguments_the_overview_goes_to_standard_error():
    bare = firebrick()
    assert bare.returncode == 2 and bare.stdout == ""
    assert bare.stderr == firebrick("--help").stdout


def test_doctor_prints_one_json_object(tmp_path):
    report = json.loads(firebrick("doctor", "--json", XDG_CACHE_HOME=str(tmp_path)).stdout)
    assert report["default_model_present"] is False
    assert report["default_model"] == f"{tmp_path}/firebrick/models/smollm2-135m-instruct-q4_1.gguf"
    assert report["cpus"] >= 1


def test_bench_kernels_prints_one_json_object():
    done = firebrick("bench", "kernels", "--type", "q4_0", "--type", "bf16", "--rows", "1,5", "--outputs", "64", "--cols",
                     "256", "--repeat", "1", "--json")
    report = json.loads(done.stdout)
    assert [(k["type"], k["rows"]) for k in report["kernels"]] == [("q4_0", 1), ("q4_0", 5), ("bf16", 1), ("bf16", 5)]
    assert all(k["bytes_per_s"] > 0 and k["flops"] > 0 and k["bandwidth_share"] > 0 for k in report["kernels"])
    assert all(k["read_bandwidth"] > 0 for k in report["kernels"])
    wrong = firebrick("bench", "kernels", "--type", "q9")
    assert wrong.returncode == 2 and "q9" in wrong.stderr
    wrong = firebrick("bench", "kernels", "some.gguf")
    assert wrong.returncode == 2 and "takes no model" in wrong.stderr


def test_bench_speed_measures_a_context_of_its_own(tmp_path):
    model = str(tmp_path / "tiny.gguf")
    assert firebrick("make-model", "tiny-llama", model, "--type", "q8_0").returncode == 0
    common = ("--gen", "2", "--repeat", "1", "--threads", "1", "--json")
    done = firebrick("bench", "speed", model, "--prompt", "20", "--context", "5", "--streams", "1,3", *common)
    report = json.loads(done.stdout)
    assert (report["prompt"], report["context"]) == (20, 5) and report["prefill_tps"] > 0
    assert [s["streams"] for s in report["streams"]] == [1, 3]
    assert all(s["context_tps"] > 0 and s["decode_tps"] > 0 for s in report["streams"])
    done = firebrick("bench", "speed", model, "--prompt", "0", "--context", "600", "--streams", "1", *common)
    report = json.loads(done.stdout)
    assert report["prefill_tps"] == 0 and report["context"] == 600 and report["streams"][0]["context_tps"] > 0
    wrong = firebrick("bench", "speed", model, "--prompt", "0", *common)
    assert wrong.returncode == 2 and "--context" in wrong.stderr


def test_bench_start_and_overhead_measure_a_server_and_doctor_shows_its_kernels(tmp_path):
    model, cache = str(tmp_path / "tiny.gguf"), {"XDG_CACHE_HOME": str(tmp_path)}
    assert firebrick("make-model", "tiny-llama", model, "--type", "q8_0").returncode == 0
    done = firebrick("bench", "start", model, "--repeat", "1", "--json", **cache)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    for kind in ("cold", "warm"):
        assert 0 < report[kind]["ready_s"] <= report[kind]["first_token_s"]
        assert 0 < report[kind]["start_peak_bytes"] <= report[kind]["serving_peak_bytes"]
    assert report["weight_bytes"] > 0 and report["kv_bytes"] > 0 and report["cold"]["read_s"] > 0

    done = firebrick("bench", "overhead", model, "--idle", "1", "--json", **cache)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert {"fb-executor", "fb-engine", "fb-output", "fb-http"} <= set(report["threads"])

    doctor = json.loads(firebrick("doctor", "--json", **cache).stdout)
    levels = [level for level in doctor["isa"] if level not in ("ref", "amx")]
    if len(levels) > 1:
        choice = doctor["kernel_choices"][0]
        assert choice["model"] == "tiny" and choice["current"]
        assert all(set(chosen) == {"few", "many"} for chosen in choice["choices"].values())


def test_bench_growth_and_steady_measure_steps_and_streams(tmp_path):
    model = str(tmp_path / "tiny.gguf")
    assert firebrick("make-model", "tiny-llama", model, "--type", "q8_0").returncode == 0
    done = firebrick("bench", "growth", model, "--up-to", "5,64", "--repeat", "1", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [point["batch"] for point in report["batch"]] == [1, 2, 3, 4]
    assert [point["context"] for point in report["context"]] == [31, 32, 63]
    assert all(point["ms"] > 0 and point["growth"] > 0 for point in report["batch"] + report["context"])
    (tmp_path / "growth.json").write_text(done.stdout)
    plot = tmp_path / "growth.svg"
    tool = str(pathlib.Path(__file__).parents[2] / "tools" / "plot_growth.py")
    subprocess.run([sys.executable, tool, str(tmp_path / "growth.json"), str(plot)], check=True)
    assert plot.read_text().startswith("<svg")

    sizes = ("--load", "2,2,100")
    done = firebrick("bench", "steady", model, *sizes, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["alone"]["gap_p99_ms"] > 0 and report["mixed"]["tokens_per_s"] > 0 and report["work_share"] > 0


@pytest.mark.parametrize("arguments", [("run", "-p", "Hi"), ("inspect",), ("tokenize",), ("bench", "speed"), ("serve",)])
def test_missing_default_model_says_how_to_get_it(tmp_path, arguments):
    missing = firebrick(*arguments, XDG_CACHE_HOME=str(tmp_path))
    assert missing.returncode == 3 and missing.stdout == ""
    assert f"{tmp_path}/firebrick/models/smollm2-135m-instruct-q4_1.gguf" in missing.stderr
    assert "scripts/fetch-models" in missing.stderr


def test_missing_file_and_unknown_hub_name(tmp_path):
    missing = firebrick("inspect", "none.gguf")
    assert missing.returncode == 3 and "no file or folder 'none.gguf'" in missing.stderr
    missing = firebrick("inspect", "org/name", HF_HOME=str(tmp_path))
    assert missing.returncode == 3 and "firebrick pull org/name" in missing.stderr


def test_damaged_file_is_data_loss(tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF\x03\x00\x00\x00" + b"\xff" * 16)
    refused = firebrick("inspect", str(broken))
    assert refused.returncode in (2, 8) and str(broken) in refused.stderr


def test_wrong_values_name_the_flag_and_the_remedy():
    for arguments, message in [
        (("run", "--threads", "two"), "--threads: 'two' is not a whole number"),
        (("run", "--isa", "sse"), "--isa: 'sse' is not one of auto, ref, avx2, avx512, amx"),
        (("serve", "--kv-cache-memory", "many"), "--kv-cache-memory: 'many' is not a size; write it like 512MiB"),
        (("run", "--json"), "--json needs -p TEXT"),
    ]:
        wrong = firebrick(*arguments)
        assert wrong.returncode == 2 and message in wrong.stderr


def test_run_prints_one_json_object_and_raw_skips_the_template():
    answer = json.loads(firebrick("run", MODEL, "-p", "Why is the sky blue?", "--max-tokens", "8", "--temperature", "0",
                                  "--json").stdout)
    assert list(answer) == ["text", "token_ids", "finish_reason", "usage", "timings"]
    assert answer["text"] and len(answer["token_ids"]) == 8 and answer["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 8 and answer["usage"]["prompt_tokens"] > 8
    raw = json.loads(firebrick("run", MODEL, "-p", "The capital of France is", "--raw", "--max-tokens", "2",
                               "--temperature", "0", "--json").stdout)
    assert raw["usage"]["prompt_tokens"] == 5
    assert raw["text"].startswith(" Paris")


def test_chat_keeps_its_history():
    chat = subprocess.run([BINARY, "run", MODEL, "--temperature", "0", "--max-tokens", "4"], input="Hello.\nAgain.\n",
                          capture_output=True, text=True, timeout=60, check=True)
    first = firebrick("run", MODEL, "-p", "Hello.", "--temperature", "0", "--max-tokens", "4").stdout
    assert chat.stdout.startswith(first) and len(chat.stdout) > len(first)


def test_text_that_is_no_utf8_is_refused():
    refused = subprocess.run([BINARY, "run", MODEL, "-p", b"\xff"], capture_output=True, timeout=60, check=False)
    assert refused.returncode == 2 and b"not valid UTF-8 at byte 0" in refused.stderr


def test_tokenize_there_and_back():
    text = "Hello, world \N{SNOWMAN} <|im_end|>"
    lines = json.dumps(text) + "\n"
    ids = subprocess.run([BINARY, "tokenize", MODEL, "--jsonl", "--no-special"], input=lines, capture_output=True,
                         text=True, timeout=60, check=True).stdout
    back = subprocess.run([BINARY, "tokenize", MODEL, "--jsonl", "--decode"], input=ids, capture_output=True, text=True,
                          timeout=60, check=True).stdout
    assert json.loads(back) == text
    assert len(json.loads(ids)) > 8
