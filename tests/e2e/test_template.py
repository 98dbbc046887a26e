"""`firebrick template` from outside. With the templates of ../shared/data and jinja2 at hand, all of them are compared."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("FIREBRICK_BINARY", ROOT / "build" / "release" / "firebrick"))
SHARED = pathlib.Path(os.environ.get("FIREBRICK_SHARED", ROOT.parent / "shared")) / "data"
TEMPLATE = ("{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{{ eos_token }}{% endfor %}"
            "{% if add_generation_prompt %}<|assistant|>{% endif %}{{ strftime_now('%Y') if year }}")
HELLO = {"messages": [{"role": "user", "content": "Grüße <|x|>"}], "bos_token": "<s>", "eos_token": "</s>"}


@pytest.fixture(name="template")
def template_file(tmp_path):
    path = tmp_path / "t.jinja"
    path.write_text(TEMPLATE)
    return path


def render(template, text: str, *flags: str) -> subprocess.CompletedProcess:
    return subprocess.run([BINARY, "template", template, *flags], input=text, capture_output=True, text=True, timeout=60,
                          check=False)


def test_one_line_in_is_one_line_out(template):
    requests = [HELLO, {**HELLO, "add_generation_prompt": True}, {"messages": 3},
                {**HELLO, "chat_template_kwargs": {"year": True}}]
    done = render(template, "".join(json.dumps(request) + "\n" for request in requests) + "{\n", "--jsonl", "--clock", "0")
    assert done.returncode == 0 and done.stderr == ""
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers[0] == "<s><|user|>Grüße <|x|></s>"
    assert answers[1] == answers[0] + "<|assistant|>"
    assert "int" in answers[2]["error"] and "JSON" in answers[4]["error"]
    assert answers[3] == answers[0] + "1970"


def test_a_whole_request_and_its_spans(template):
    assert render(template, json.dumps(HELLO, indent=1)).stdout == "<s><|user|>Grüße <|x|></s>"
    assert json.loads(render(template, json.dumps(HELLO), "--spans").stdout) == [
        {"text": "<s><|user|>", "allow_special": True}, {"text": "Grüße <|x|>", "allow_special": False},
        {"text": "</s>", "allow_special": True}]


def test_a_folder_gives_template_and_tokens(tmp_path):
    config = {"chat_template": TEMPLATE, "bos_token": "<B>", "eos_token": {"content": "<E>"}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    request = {"messages": [{"role": "user", "content": "hi"}]}
    assert render(tmp_path, json.dumps(request)).stdout == "<B><|user|>hi<E>"


def test_a_broken_template_fails_the_command(tmp_path):
    (tmp_path / "t.jinja").write_text("{% if %}")
    broken = render(tmp_path / "t.jinja", "{}", "--jsonl")
    assert broken.returncode == 2 and "line 1" in broken.stderr
    assert render(tmp_path / "none.jinja", "{}").returncode != 0


if importlib.util.find_spec("jinja2") is not None and (SHARED / "chat-templates").is_dir():

    def test_all_templates_at_hand_equal_jinja2():
        compared = subprocess.run([sys.executable, ROOT / "tools" / "compare_templates.py", BINARY, "--data", SHARED],
                                  capture_output=True, text=True, timeout=600, check=False)
        assert compared.returncode == 0, compared.stdout + compared.stderr
