#!/usr/bin/env python3
"""Compares `firebrick template` with jinja2 over chat templates and requests.

Usage: compare_templates.py BINARY [--data FOLDER]

FOLDER (default: ../shared/data beside the repository) holds chat-templates/*.jinja and chat-template-cases.jsonl.
jinja2 runs as transformers sets it up: ImmutableSandboxedEnvironment, trim_blocks, lstrip_blocks, loopcontrols, a
`generation` tag, raise_exception, strftime_now with a frozen clock, tojson as json.dumps(ensure_ascii=False).
A template that raises in jinja2 has to fail in firebrick. Prints each mismatch; exits 1 if there is one.
Needs jinja2 (Debian: python3-jinja2; 3.1).
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys

import jinja2
import jinja2.ext
import jinja2.nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

CLOCK = 1741064767  # 2025-03-04 05:06:07 UTC


class Generation(jinja2.ext.Extension):
    """{% generation %} … {% endgeneration %}: prints its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment() -> ImmutableSandboxedEnvironment:
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                        extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda form: datetime.datetime.fromtimestamp(CLOCK).strftime(form)
    return env


def reference(source: str, request: dict) -> tuple[str, str]:
    """("text", prompt) or ("error", why)."""
    arguments = {name: value for name, value in request.items() if name != "chat_template_kwargs"}
    arguments.update(request.get("chat_template_kwargs") or {})
    try:
        return "text", environment().from_string(source).render(**arguments)
    except Exception as error:  # pylint: disable=broad-except  # whatever Python raises counts as refused
        return "error", f"{type(error).__name__}: {error}"


def ours(binary: str, template: pathlib.Path, requests: list[dict]) -> list[tuple[str, str]]:
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    run = subprocess.run([binary, "template", str(template), "--jsonl", "--clock", str(CLOCK)], input=lines,
                         capture_output=True, text=True, check=False, timeout=120)
    if run.returncode != 0:
        return [("error", run.stderr.strip())] * len(requests)
    results = [json.loads(line) for line in run.stdout.splitlines()]
    return [("text", result) if isinstance(result, str) else ("error", result["error"]) for result in results]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    root = pathlib.Path(__file__).resolve().parents[1]
    parser.add_argument("--data", type=pathlib.Path, default=root.parent / "shared" / "data")
    arguments = parser.parse_args()
    templates = sorted((arguments.data / "chat-templates").glob("*.jinja"))
    cases = (arguments.data / "chat-template-cases.jsonl").read_text().splitlines()
    requests = [json.loads(line) for line in cases]
    if not templates or not requests:
        print(f"no templates or no requests under {arguments.data}", file=sys.stderr)
        return 2
    os.environ["TZ"] = "UTC"
    mismatches = refused = 0
    for template in templates:
        source = template.read_text()
        for number, (request, got) in enumerate(zip(requests, ours(arguments.binary, template, requests), strict=True)):
            want = reference(source, request)
            refused += want[0] == "error"
            if want[0] == got[0] and (want[0] == "error" or want[1] == got[1]):
                continue
            mismatches += 1
            print(f"{template.name} request {number}:\n  jinja2    {want}\n  firebrick {got}")
    print(f"{len(templates)} templates x {len(requests)} requests with jinja2 {jinja2.__version__}: "
          f"{mismatches} mismatches ({refused} refused by both sides' rules)")
    return 1 if mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
