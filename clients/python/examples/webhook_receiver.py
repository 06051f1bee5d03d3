"""Receives webhooks, verifies them and prints them, with nothing but the standard library.

    python examples/webhook_receiver.py 9000

WEBHOOK_SECRET holds the endpoint's secret, or both, separated by a comma, while it is rotated.
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from switchhook import WebhookVerificationError, verify_webhook

SECRETS = os.environ["WEBHOOK_SECRET"].split(",")
# In production, a table: a delivery can come more than once, also after a restart.
handled: set[str] = set()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            event = verify_webhook(body, dict(self.headers), SECRETS)
        except WebhookVerificationError as error:
            print(f"refused: {error}", flush=True)
            self.send_response(401)
            self.end_headers()
            return
        if event.id not in handled:
            handled.add(event.id)
            print(f"{event.event} {event.data.call_id} {event.data.status}", flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Events are printed, requests are not."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
