"""A running `firebrick serve` for the tests that need one. The model is the default model, or $FIREBRICK_TEST_MODEL."""
import importlib.util
import pathlib

import pytest

from serving import Server, http_json

# The official client comes from tests/e2e/requirements.txt; Debian's Python does not have it.
HAS_OPENAI = importlib.util.find_spec("openai") is not None
collect_ignore = [] if HAS_OPENAI else ["test_openai_sdk.py"]


def pytest_report_header(config):
    if not HAS_OPENAI:
        return "openai: not installed, test_openai_sdk.py is left out (pip install -r tests/e2e/requirements.txt)"
    return None


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One server for all tests that change nothing in it: 2048 tokens of context, room for 16 sequences."""
    log = pathlib.Path(tmp_path_factory.mktemp("server")) / "log"
    running = Server(log, "--max-model-len", "2048", "--max-num-seqs", "16", "--served-model-name", "served",
                     "--served-model-name", "alias")
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def nothing_left_behind(request):
    """After each test that used the shared server: alive, nothing running or waiting, and it answers."""
    yield
    if "server" not in request.fixturenames:
        return
    running = request.getfixturevalue("server")
    running.wait_until_idle()
    status, _, answer = http_json(running, "POST", "/v1/completions", {"prompt": "Hi", "max_tokens": 1, "temperature": 0})
    assert status == 200 and answer["choices"][0]["finish_reason"] == "length"
