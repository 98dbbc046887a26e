"""The engines: how each is run for a job, and how its figures are read. Every run is a process of its own that loads
the model, warms up, measures, and ends. A variant is a set of options of an engine; the faster one counts."""
import contextlib
import fcntl
import json
import os
import pathlib
import resource
import shlex
import subprocess
import sys
import tempfile
import time

from peers.measures import Job, named

HERE = pathlib.Path(__file__).resolve().parent


class EngineFailed(Exception):
    """A run that gave no figures; the text ends with what the process said last."""


class Runner:
    """Runs measured processes one at a time, and again where other processes took part of the CPUs. The locks are for
    those others that take them, too."""
    MAX_FOREIGN = 0.08  # of all CPUs
    TRIES = 2

    def __init__(self, timeout_s: int, locks: list[pathlib.Path]):
        self.timeout_s, self.locks = timeout_s, locks
        self.disturbed: list[str] = []  # runs whose best try was disturbed: share of the CPUs, command

    @contextlib.contextmanager
    def holding_locks(self):
        with contextlib.ExitStack() as stack:
            for lock in self.locks:
                fcntl.flock(stack.enter_context(lock.open("a")), fcntl.LOCK_EX)
            yield

    def run(self, command: list, env: dict[str, str] | None = None) -> str:
        """The standard output of the least disturbed try."""
        words = [str(word) for word in command]
        tries = []
        while len(tries) < self.TRIES and all(foreign > self.MAX_FOREIGN for foreign, _ in tries):
            if tries:
                print(f"  other processes took {tries[-1][0]:.0%} of the CPUs; once more", file=sys.stderr, flush=True)
                time.sleep(10)
            tries.append(self.run_once(words, env))
        foreign, output = min(tries)
        if foreign > self.MAX_FOREIGN:
            self.disturbed.append(f"{foreign:.0%}: {shlex.join(words)}")
            print(f"  DISTURBED: other processes took {foreign:.0%} of the CPUs in the best of {len(tries)} tries",
                  file=sys.stderr, flush=True)
        return output

    def run_once(self, words: list[str], env: dict[str, str] | None) -> tuple[float, str]:
        """(share of all CPU time that went to others, standard output)."""
        with tempfile.TemporaryFile("w+") as errors:
            begin, busy, own = time.monotonic(), busy_seconds(), own_seconds()
            try:
                done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True,
                                      timeout=self.timeout_s, env={**os.environ, **(env or {})}, check=False)
            except (OSError, subprocess.TimeoutExpired) as failure:
                raise EngineFailed(f"{shlex.join(words)}: {failure}") from failure
            room = max(time.monotonic() - begin, 1.0) * (os.cpu_count() or 1)
            foreign = max((busy_seconds() - busy) - (own_seconds() - own), 0.0) / room
            errors.seek(0)
            said = (errors.read() or done.stdout).strip().splitlines()
        if done.returncode != 0:
            raise EngineFailed(f"{shlex.join(words)}: exit status {done.returncode}: " + " / ".join(said[-3:]))
        return foreign, done.stdout


def busy_seconds() -> float:
    """CPU time that the machine has spent on anything, time stolen by its host included."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def read_batched_table(text: str) -> list[dict[str, float]]:
    """Rows of the table that llama-batched-bench prints, in both families: {pp, tg, pl, speed_pp, speed_tg}."""
    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 10 or not cells[0].isdigit():
            continue
        rows.append({"pp": int(cells[0]), "tg": int(cells[1]), "pl": int(cells[2]), "speed_pp": float(cells[5]),
                     "speed_tg": float(cells[7])})
    return rows


class Firebrick:
    name = "firebrick"
    is_peer = False

    def __init__(self, binary: pathlib.Path, threads: int, extra: list[str]):
        self.binary, self.threads, self.extra = binary, threads, extra
        self.version = str(binary)

    def variants(self, model: "Model") -> list[str]:
        return [" ".join(self.extra)]

    def run(self, model: "Model", job: Job, variant: str, runner: Runner) -> dict[str, float]:
        # A prompt alone still decodes one token: `bench speed` always decodes.
        command = [self.binary, "bench", "speed", model.file, "--threads", self.threads, "--repeat", 1, "--json",
                   "--prompt", job.prompt, "--context", job.context or 1, "--gen", max(job.gen, 1),
                   "--streams", ",".join(map(str, job.streams or [1])), *self.extra]
        result = json.loads(runner.run(command))
        decode = {s["streams"]: s["decode_tps"] for s in result["streams"] if s["streams"] in job.streams}
        prefill = result["streams"][0]["context_tps"] if job.long else result["prefill_tps"]
        return named(job, prefill, decode)


class LlamaFamily:
    """llama.cpp and ik_llama.cpp: llama-bench for the prompt, llama-batched-bench for the rest."""
    is_peer = True

    def __init__(self, name: str, binaries: pathlib.Path, threads: int, version: str):
        self.name, self.binaries, self.threads, self.version = name, binaries, threads, version

    def variants(self, model: "Model") -> list[str]:
        """Options after the name of llama-bench; none for a model that is no GGUF file."""
        if model.file.suffix != ".gguf":
            return []
        return ["-rtr 0", "-rtr 1"] if self.name == "ik_llama.cpp" else ["-fa 0", "-fa 1"]

    def run(self, model: "Model", job: Job, variant: str, runner: Runner) -> dict[str, float]:
        env = {"LD_LIBRARY_PATH": f"{self.binaries}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
        prefill, decode = 0.0, {}
        if job.prompt:
            command = [self.binaries / "llama-bench", "-m", model.file, "-p", job.prompt, "-n", 0, "-r", 1, "-o", "json",
                       "-t", self.threads, "-b", max(2048, job.prompt), "-ub", 512]
            command += variant.split() + ([] if "-fa" in variant else ["-fa", 1])
            prefill = json.loads(runner.run(command, env))[0]["avg_ts"]
        if job.streams:
            room = max(job.streams) * (job.context + job.gen + 1)
            command = [self.binaries / "llama-batched-bench", "-m", model.file, "-npp", job.context, "-ntg", job.gen,
                       "-npl", ",".join(map(str, job.streams)), "-c", room, "-b", 2048, "-ub", 512,
                       "-t", self.threads, "-tb", self.threads]
            command += ["-rtr"] if variant == "-rtr 1" else []
            command += ["-fa", "off" if variant == "-fa 0" else "on"]
            rows = read_batched_table(runner.run(command, env))
            if len(rows) != len(job.streams):
                raise EngineFailed(f"{self.name}: {len(rows)} rows of llama-batched-bench for {job.streams}")
            decode = {row["pl"]: row["speed_tg"] for row in rows}
            if job.long:
                prefill = rows[0]["speed_pp"]
        return named(job, prefill, decode)


class PythonPeer:
    """OpenVINO GenAI or vLLM: a script of ours, run by the Python of that engine's environment."""
    is_peer = True

    def __init__(self, name: str, python: pathlib.Path, script: str, threads: int, version: str):
        self.name, self.python, self.script, self.threads = name, python, HERE / script, threads
        self.version = version

    def variants(self, model: "Model") -> list[str]:
        return list(model.also.get(self.name, {}))

    def run(self, model: "Model", job: Job, variant: str, runner: Runner) -> dict[str, float]:
        work = {"model": str(model.also[self.name][variant]), "threads": self.threads, "prompt": job.prompt,
                "context": job.context, "gen": job.gen, "streams": job.streams, "long": job.long}
        output = runner.run([self.python, self.script, json.dumps(work)])
        result = json.loads(output.strip().splitlines()[-1])
        return named(job, result["prefill_tps"], {int(n): tps for n, tps in result["decode_tps"].items()})


class Model:
    """A model file, the same for all; `shape` where make-model wrote it; `also`: what an engine takes beside or instead of
    the file, {engine: {variant: path}}."""

    def __init__(self, name: str, file: pathlib.Path, shape: str = ""):
        self.name, self.file, self.shape = name, file, shape
        self.also: dict[str, dict[str, pathlib.Path]] = {}
