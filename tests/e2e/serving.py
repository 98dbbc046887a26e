"""Starts `firebrick serve` and talks to it with nothing but the standard library."""
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("FIREBRICK_BINARY", ROOT / "build" / "release" / "firebrick"))
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
MODEL = os.environ.get("FIREBRICK_TEST_MODEL",
                       str(CACHE / "firebrick" / "models" / "smollm2-135m-instruct-q4_1.gguf"))
START_SECONDS = 120


class Server:
    def __init__(self, log, *flags, model=MODEL):
        self.log_path = log
        with open(log, "wb") as sink:
            self.process = subprocess.Popen([BINARY, "serve", model, "--port", "0", *flags], stdout=subprocess.PIPE,
                                            stderr=sink, stdin=subprocess.DEVNULL)
        self.host = "127.0.0.1"
        self.ready_line = self._await_ready()
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)/v1", self.ready_line).group(1))
        self.base_url = f"http://{self.host}:{self.port}/v1"

    def _await_ready(self):
        """The line that says the URL is the first on standard output."""
        line = self.process.stdout.readline().decode()
        if "http://" not in line:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"no ready line but {line!r}; log:\n{self.log()}")
        return line

    def log(self):
        return pathlib.Path(self.log_path).read_text(errors="replace")

    def stop(self, expected=0):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process.stdout.close()
        assert code == expected, f"exit code {code}; log:\n{self.log()}"

    def metric(self, name, **labels):
        """The sum of a metric over the series that have these labels."""
        status, _, body = http_raw(self, "GET", "/metrics")
        assert status == 200
        total, found = 0.0, False
        for line in body.decode().splitlines():
            match = re.fullmatch(r"([a-zA-Z0-9_:]+)(?:\{(.*)\})? (\S+)", line)
            if not match or match.group(1) != name:
                continue
            if all(f'{key}="{value}"' in (match.group(2) or "") for key, value in labels.items()):
                total, found = total + float(match.group(3)), True
        assert found, f"no metric {name} {labels}"
        return total

    def wait_for(self, condition, seconds=20):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if condition():
                return
            time.sleep(0.01)
        raise AssertionError("the condition did not come true in time")

    def wait_until_idle(self):
        self.wait_for(lambda: self.metric("vllm:num_requests_running") == 0
                      and self.metric("vllm:num_requests_waiting") == 0
                      and self.metric("vllm:kv_cache_usage_perc") == 0)


def http_raw(server, method, path, body=None, headers=None, timeout=120):
    connection = http.client.HTTPConnection(server.host, server.port, timeout=timeout)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def http_json(server, method, path, body=None, headers=None):
    raw = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
    status, answered, data = http_raw(server, method, path, raw, {"Content-Type": "application/json", **(headers or {})})
    return status, answered, json.loads(data) if data else None


def chat(server, content="Say hello.", **fields):
    """A chat answer; fails on any status but 200."""
    body = {"messages": [{"role": "user", "content": content}], "temperature": 0, "max_tokens": 32, **fields}
    status, _, answer = http_json(server, "POST", "/v1/chat/completions", body)
    assert status == 200, answer
    return answer


def complete(server, prompt, **fields):
    status, _, answer = http_json(server, "POST", "/v1/completions",
                                  {"prompt": prompt, "temperature": 0, "max_tokens": 16, **fields})
    assert status == 200, answer
    return answer


def refused(server, path, body, status=400):
    """The error object of a request that is refused."""
    got, _, answer = http_json(server, "POST", path, body)
    assert got == status, answer
    assert set(answer["error"]) == {"message", "type", "param", "code"}
    assert 0 < len(answer["error"]["message"]) < 1000
    return answer["error"]


def events(server, path, body):
    """The data of each server-sent event, [DONE] left as it is; checks the framing."""
    status, headers, raw = http_raw(server, "POST", path, json.dumps({**body, "stream": True}),
                                    {"Content-Type": "application/json"})
    assert status == 200, raw
    assert headers["Content-Type"].startswith("text/event-stream")
    assert headers["Cache-Control"] == "no-cache" and headers["X-Accel-Buffering"] == "no"
    text = raw.decode()
    assert text.endswith("data: [DONE]\n\n")
    blocks = text.split("\n\n")[:-1]
    assert all(block.startswith("data: ") and "\n" not in block for block in blocks)
    return [block[len("data: "):] for block in blocks]


def stream(server, path, body):
    data = events(server, path, body)
    assert data[-1] == "[DONE]" and data.count("[DONE]") == 1
    return [json.loads(item) for item in data[:-1]]


def open_stream(server, body, path="/v1/chat/completions"):
    """A raw socket on which a stream has begun to come."""
    raw = json.dumps({**body, "stream": True}).encode()
    connection = socket.create_connection((server.host, server.port), timeout=60)
    connection.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(raw)) + raw)
    got = b""
    while b"data: " not in got:
        piece = connection.recv(4096)
        assert piece, got
        got += piece
    return connection
