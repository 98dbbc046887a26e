"""What is measured, and for whom the figures are: plain values, no processes."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Measure:
    """Tokens per second of one kind of work. prefill: `context` tokens of one prompt; decode: `gen` tokens of each of
    `streams` sequences together, after a context of `context` tokens each."""
    kind: str  # "prefill" or "decode"
    context: int
    streams: int = 1
    gen: int = 0
    long: bool = False  # measured after one another in one run: a long prefill is too dear to be done twice

    @property
    def name(self) -> str:
        if self.kind == "prefill":
            return f"prefill {self.context}"
        after = f" after {self.context}" if self.long else ""
        return f"decode {self.streams} stream{'s' if self.streams > 1 else ''}{after}"


def plan(prompt: int, context: int, gen: int, streams: list[int], long: list[int]) -> list[Measure]:
    measures = [Measure("prefill", prompt)] if prompt else []
    measures += [Measure("decode", context, n, gen) for n in streams]
    for tokens in long:
        measures += [Measure("prefill", tokens, long=True), Measure("decode", tokens, 1, gen, long=True)]
    return measures


@dataclasses.dataclass(frozen=True)
class Job:
    """Measures that one start of an engine can serve: a prompt, decoding at several widths, or one long context."""
    prompt: int        # 0: no prefill
    context: int       # 0: no decoding
    gen: int
    streams: list[int]
    long: bool


def jobs(measures: list[Measure]) -> list[Job]:
    result = []
    short = [m for m in measures if not m.long]
    prompt = next((m.context for m in short if m.kind == "prefill"), 0)
    decode = [m for m in short if m.kind == "decode"]
    if prompt or decode:
        result.append(Job(prompt, decode[0].context if decode else 0, decode[0].gen if decode else 0,
                          [m.streams for m in decode], False))
    for tokens in sorted({m.context for m in measures if m.long}):
        gen = max([m.gen for m in measures if m.long and m.context == tokens] + [1])
        result.append(Job(0, tokens, gen, [1], True))
    return result


def named(job: Job, prefill_tps: float, decode_tps: dict[int, float]) -> dict[str, float]:
    """Figures of a job under the names of their measures."""
    figures = {}
    if prefill_tps:
        figures[Measure("prefill", job.context if job.long else job.prompt, long=job.long).name] = prefill_tps
    for streams, tps in decode_tps.items():
        figures[Measure("decode", job.context, streams, job.gen, job.long).name] = tps
    return figures
