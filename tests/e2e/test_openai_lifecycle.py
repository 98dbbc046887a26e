"""What happens around a request: cancelling, slow readers, HTTP's edges, metrics, shutdown."""
import concurrent.futures
import json
import signal
import socket
import time

import pytest

from serving import MODEL, Server, chat, http_json, http_raw, open_stream, stream

CHAT = "/v1/chat/completions"
LONG = {"messages": [{"role": "user", "content": "Count from one to a thousand."}], "max_tokens": 1500,
        "ignore_eos": True, "temperature": 0}


def raw_exchange(server, sent, half_close=False, timeout=30):
    with socket.create_connection((server.host, server.port), timeout=timeout) as connection:
        connection.sendall(sent)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        got = b""
        while piece := connection.recv(65536):
            got += piece
        return got


def test_disconnect_frees_every_block(server):
    aborted = server.metric("vllm:request_success_total", finished_reason="abort")
    connections = [open_stream(server, LONG) for _ in range(4)]
    assert server.metric("vllm:num_requests_running") == 4
    assert server.metric("vllm:kv_cache_usage_perc") > 0
    for connection in connections:
        connection.close()
    server.wait_for(lambda: server.metric("vllm:kv_cache_usage_perc") == 0, seconds=3)
    assert server.metric("vllm:num_requests_running") == 0
    assert server.metric("vllm:request_success_total", finished_reason="abort") == aborted + 4


def test_disconnect_of_a_whole_answer_frees_too(server):
    raw = json.dumps(LONG).encode()
    with socket.create_connection((server.host, server.port)) as connection:
        connection.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (CHAT.encode(), len(raw)) + raw)
        server.wait_for(lambda: server.metric("vllm:num_requests_running") == 1)
    server.wait_for(lambda: server.metric("vllm:num_requests_running") == 0, seconds=3)


def test_disconnect_cancels_all_choices(server):
    connection = open_stream(server, {**LONG, "n": 4})
    server.wait_for(lambda: server.metric("vllm:num_requests_running") == 4)
    connection.close()
    server.wait_for(lambda: server.metric("vllm:num_requests_running") == 0, seconds=3)


def test_97_slow_reader_does_not_slow_others(server):
    slow = open_stream(server, {**LONG, "logprobs": True, "top_logprobs": 20})
    try:
        begin = time.monotonic()
        assert chat(server, max_tokens=8)["choices"]
        assert time.monotonic() - begin < 30
    finally:
        slow.close()


def test_85_request_ids(server):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: http_json(server, "POST", CHAT, {"messages": LONG["messages"], "max_tokens": 4},
                                                    {"X-Request-Id": "same"}), range(16)))
    assert all(status == 200 and headers["X-Request-Id"] == "same" for status, headers, _ in answers)
    assert len({answer["id"] for _, _, answer in answers}) == 16
    for hostile in ("a b", "x" * 10_000):
        status, headers, _ = http_raw(server, "GET", "/health", headers={"X-Request-Id": hostile})
        assert status == 200 and headers["X-Request-Id"] != hostile


def test_requests_together_equal_requests_alone(server):
    prompts = [f"Tell me about the number {i}." for i in range(12)]
    alone = [chat(server, prompt, max_tokens=24)["choices"] for prompt in prompts]
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        together = list(pool.map(lambda prompt: chat(server, prompt, max_tokens=24)["choices"], prompts))
    assert together == alone


def test_101_health_while_busy(server):
    connections = [open_stream(server, LONG) for _ in range(2)]
    big = {"messages": [{"role": "user", "content": "word " * 1500}], "max_tokens": 1}
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        prefill = pool.submit(http_json, server, "POST", CHAT, big)
        times = []
        for _ in range(20):
            begin = time.monotonic()
            assert http_raw(server, "GET", "/health")[0] == 200
            times.append(time.monotonic() - begin)
            time.sleep(0.02)
        assert prefill.result()[0] == 200
    for connection in connections:
        connection.close()
    assert sorted(times)[-2] < 0.5


def test_113_metrics_count_what_clients_saw(server):
    names = {"prompt": "vllm:prompt_tokens_total", "made": "vllm:generation_tokens_total"}
    before = {key: server.metric(name) for key, name in names.items()}
    finished = server.metric("vllm:request_success_total")
    usages = [chat(server, f"Count {i}", max_tokens=5 + i)["usage"] for i in range(4)]
    chunks = stream(server, CHAT, {"messages": LONG["messages"], "max_tokens": 9, "stream_options": {"include_usage": True}})
    usages.append(chunks[-1]["usage"])
    server.wait_for(lambda: server.metric("vllm:request_success_total") == finished + 5)
    assert server.metric(names["prompt"]) - before["prompt"] == sum(usage["prompt_tokens"] for usage in usages)
    assert server.metric(names["made"]) - before["made"] == sum(usage["completion_tokens"] for usage in usages)
    for name in ("vllm:time_to_first_token_seconds_count", "vllm:e2e_request_latency_seconds_count",
                 "vllm:inter_token_latency_seconds_count", "vllm:request_queue_time_seconds_count",
                 "vllm:prefix_cache_queries_total", "vllm:gpu_cache_usage_perc", "vllm:cache_config_info"):
        assert server.metric(name) >= 0


def test_http_pipelining_and_http10(server):
    get = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    got = raw_exchange(server, get * 3, half_close=True)
    assert got.count(b"HTTP/1.1 200 OK") == 3
    old = raw_exchange(server, b"GET /v1/models HTTP/1.0\r\n\r\n")
    assert old.startswith(b"HTTP/1.1 200 OK") and b"Connection: close" in old


def test_http10_stream_has_no_chunks(server):
    body = json.dumps({"messages": LONG["messages"], "max_tokens": 3, "stream": True}).encode()
    got = raw_exchange(server, b"POST %s HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % (CHAT.encode(), len(body)) + body)
    head, _, rest = got.partition(b"\r\n\r\n")
    assert b"Transfer-Encoding" not in head
    assert rest.startswith(b"data: {") and rest.endswith(b"data: [DONE]\n\n")


def test_http_chunked_body_and_expect(server):
    body = json.dumps({"prompt": "Hi", "max_tokens": 1}).encode()
    frames = b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + 7]), body[i:i + 7]) for i in range(0, len(body), 7)) + b"0\r\n\r\n"
    got = raw_exchange(server, b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                               b"Transfer-Encoding: chunked\r\n\r\n" + frames)
    assert got.startswith(b"HTTP/1.1 200 OK")
    with socket.create_connection((server.host, server.port), timeout=30) as connection:
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\n"
                           b"Content-Length: %d\r\n\r\n" % len(body))
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("sent, status", [
    (b"nonsense\r\n\r\n", 400), (b"GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 404),
    (b"GET /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 405),
    (b"POST /v1/completions HTTP/1.1\r\nHost: x\r\n\r\n", 411),
    (b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 200000000\r\n\r\n", 413),
    (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 1_000_000 + b"\r\n\r\n", 431),
    (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: 1\r\n" * 10_000 + b"\r\n", 431),
    (b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", 415)])
def test_91_http_refusals(server, sent, status):
    got = raw_exchange(server, sent)
    head, _, body = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), head
    assert set(json.loads(body)["error"]) == {"message", "type", "param", "code"}


def test_99_shutdown_finishes_what_runs(tmp_path):
    server = Server(tmp_path / "log", "--max-model-len", "1024", "--shutdown-timeout", "60", model=MODEL)
    body = {**LONG, "max_tokens": 200}
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(stream, server, CHAT, body)
        server.wait_for(lambda: server.metric("vllm:num_requests_running") == 1)
        server.process.send_signal(signal.SIGTERM)
        server.wait_for(lambda: http_raw(server, "GET", "/ready")[0] == 503)
        status, headers, answer = http_json(server, "POST", CHAT, body)
        assert status == 503 and int(headers["Retry-After"]) > 0 and answer["error"]["type"] == "unavailable_error"
        assert http_raw(server, "GET", "/health")[0] == 200
        chunks = running.result()
    assert chunks[-1]["choices"][0]["finish_reason"] == "length"
    server.stop()


def test_99_second_signal_forces(tmp_path):
    server = Server(tmp_path / "log", "--max-model-len", "2048", "--shutdown-timeout", "600")
    connection = open_stream(server, LONG)
    server.process.send_signal(signal.SIGTERM)
    server.wait_for(lambda: http_raw(server, "GET", "/ready")[0] == 503)
    begin = time.monotonic()
    server.process.send_signal(signal.SIGINT)
    server.stop()
    assert time.monotonic() - begin < 20
    connection.close()


def test_port_in_use_is_an_error(server):
    import subprocess

    from serving import BINARY
    second = subprocess.run([BINARY, "serve", MODEL, "--port", str(server.port), "--max-model-len", "64"],
                            capture_output=True, text=True, timeout=120, check=False)
    assert second.returncode != 0 and "--port" in second.stderr
