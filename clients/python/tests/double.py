"""A small HTTP server that answers as the test says, for what the real service does only when it is in trouble."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    #: Close the connection with a reset instead of an answer.
    reset: bool = False
    #: Send the header, then the bytes, then close before the announced end.
    cut: bytes | None = None
    #: Wait for this before answering.
    until: threading.Event | None = None


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


def problem(status: int, code: str, **headers: str) -> Answer:
    body = {
        "type": f"https://switchhook.dev/errors/{code}",
        "title": "Trouble",
        "status": status,
        "detail": "In trouble.",
        "code": code,
        "request_id": "019a9d0c-5a5e-7c41-b0a5-3f1f4be0a9d1",
        "errors": [{"path": "to", "message": "is wrong"}],
    }
    return Answer(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is what some tests are about."""


class Double:
    """Answers in the order of `answers`, and keeps what it was sent."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.received: list[Received] = []
        self._server = Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Double:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        for answer in self.answers:
            if answer.until is not None:
                answer.until.set()

    def keys(self) -> list[str | None]:
        return [one.headers.get("idempotency-key") for one in self.received]


def _handler(double: Double) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            headers = {name.lower(): value for name, value in self.headers.items()}
            double.received.append(Received(self.command, self.path, headers, body))
            place = len(double.received) - 1
            self.reply(double.answers[place] if place < len(double.answers) else Answer(500, {"code": "not_expected"}))

        do_GET = do_POST = do_PATCH = do_DELETE = answer

        def reply(self, answer: Answer) -> None:
            if answer.until is not None:
                answer.until.wait(20)
            if answer.reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.connection.close()
                return
            data = answer.cut if answer.cut is not None else b"" if answer.body is None else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data) + (1000 if answer.cut is not None else 0)))
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()
            self.close_connection = answer.cut is not None

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler
