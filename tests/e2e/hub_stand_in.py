"""A model hub on loopback: the API that `firebrick pull` uses, with faults on request.

Large files (sha256 as X-Linked-Etag) are redirected to a store of another path that refuses HEAD and the token, as
the real one does; small ones come from the hub with git's SHA-1 as ETag.
"""
import hashlib
import http.server
import json
import threading

COMMIT = "c0ffee" + "0" * 34
LARGE = 1000  # bytes


class Hub:
    """What the hub holds, which faults it shows, and what it was asked."""

    def __init__(self, files: dict[str, bytes], repo: str = "org/model"):
        self.files = files
        self.repo = repo
        self.listed = list(files)  # names in the list; may hold what a hostile hub would list
        self.cut_after: list[int] = []  # for each coming download: break the connection after so many bytes
        self.busy = 0  # answer 503 to so many requests
        self.wrong_bytes: set[str] = set()  # files whose bytes differ from their checksum
        self.ignore_range = False
        self.token = ""  # what the hub asks for
        self.requests: list[tuple[str, str, dict[str, str]]] = []  # method, path, headers
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def etag(self, name: str) -> str:
        data = self.files[name]
        if len(data) >= LARGE:
            return hashlib.sha256(data).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()

    def ranges(self, name: str) -> list[str]:
        """The Range header of every download of a file, "" where there was none."""
        return [headers.get("Range", "") for method, path, headers in self.requests
                if method == "GET" and path.endswith("/" + name) and not self._is_redirected(path, name)]

    def _is_redirected(self, path: str, name: str) -> bool:
        return len(self.files.get(name, b"")) >= LARGE and "/resolve/" in path

    def _handler(hub):  # noqa: N805  # the handler below has the self
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self.answer(body=False)

            def do_GET(self):
                self.answer(body=True)

            def answer(self, body: bool):
                hub.requests.append((self.command, self.path, dict(self.headers.items())))
                if hub.busy > 0:
                    hub.busy -= 1
                    return self.fail(503)
                if self.path.startswith("/store/"):
                    return self.store(body)
                if hub.token and self.headers.get("Authorization") != f"Bearer {hub.token}":
                    return self.fail(401)
                if self.path == f"/api/models/{hub.repo}/revision/main":
                    siblings = [{"rfilename": name} for name in hub.listed]
                    return self.send(200, json.dumps({"sha": COMMIT, "siblings": siblings}).encode(), body)
                prefix = f"/{hub.repo}/resolve/{COMMIT}/"
                name = self.path.removeprefix(prefix)
                if not self.path.startswith(prefix) or name not in hub.files:
                    return self.fail(404)
                if len(hub.files[name]) < LARGE:
                    return self.file(name, body, {"ETag": f'"{hub.etag(name)}"'})
                headers = {"X-Linked-Etag": f'"{hub.etag(name)}"', "X-Linked-Size": str(len(hub.files[name])),
                           "ETag": '"of-the-redirect"', "Location": f"{hub.url}/store/{name}"}
                return self.send(302, b"", body, headers)

            def store(self, body: bool):
                if not body:
                    return self.fail(403)
                return self.file(self.path.removeprefix("/store/"), body, {})

            def file(self, name: str, body: bool, headers: dict[str, str]):
                data = hub.files[name]
                if name in hub.wrong_bytes:
                    data = bytes([data[0] ^ 1]) + data[1:]
                start, status = 0, 200
                wanted = self.headers.get("Range")
                if wanted and not hub.ignore_range:
                    start, status = int(wanted.removeprefix("bytes=").rstrip("-")), 206
                    headers = {**headers, "Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"}
                self.send(status, data[start:], body, headers)

            def send(self, status: int, data: bytes, body: bool, headers: dict[str, str] | None = None):
                self.send_response(status)
                for key, value in (headers or {}).items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if not body:
                    return
                if hub.cut_after and len(data) >= LARGE // 2:
                    self.wfile.write(data[:hub.cut_after.pop(0)])
                    self.wfile.flush()
                    self.close_connection = True
                    self.connection.shutdown(2)
                    return
                self.wfile.write(data)

            def fail(self, status: int):
                self.send(status, b"", False)

        return Handler
