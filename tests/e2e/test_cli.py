"""The command line from outside: help, errors and exit codes. Needs only the built binary."""
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("FIREBRICK_BINARY", ROOT / "build" / "release" / "firebrick"))


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
