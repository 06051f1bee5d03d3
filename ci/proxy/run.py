"""run.py NGINX BINARY: the service below a path of nginx. Exits with 0 when everything that a browser or a program needs is found there."""

import base64
import hashlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NGINX, BINARY = sys.argv[1:]
PATH = "/voice"
START_SECONDS = 60
TIMEOUT = 30
MOST_REDIRECTS = 3
WEBSOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3

CONFIGURATION = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr;
{user}
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    map $http_upgrade $connection_upgrade {{ default upgrade; "" ""; }}
    server {{
        listen 127.0.0.1:{port};
        location {path}/ {{
            proxy_pass http://127.0.0.1:{service}/;
            proxy_http_version 1.1;
            proxy_set_header Host $host;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $connection_upgrade;
            proxy_read_timeout 1h;
        }}
    }}
}}
"""


class Provider(BaseHTTPRequestHandler):
    """An identity provider as far as a sign-in needs it to begin."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        issuer = issuer_of(self.server)
        documents = {
            "/jwks": {"keys": []},
            "/.well-known/openid-configuration": {
                "issuer": issuer,
                "authorization_endpoint": f"{issuer}/authorize",
                "token_endpoint": f"{issuer}/token",
                "jwks_uri": f"{issuer}/jwks",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["ES256"],
            },
        }
        document = documents.get(self.path)
        body = json.dumps(document).encode()
        self.send_response(404 if document is None else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def issuer_of(server):
    return f"http://127.0.0.1:{server.server_address[1]}"


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirects)


def ask(method, url, body=None, key=None, accept="*/*"):
    """Status, headers and text of a response."""
    headers = {"Accept": accept, "Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    data = None if body is None else json.dumps(body).encode()
    try:
        response = OPENER.open(urllib.request.Request(url, data, headers, method=method), timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        response = error
    with response:
        return response.status, response.headers, response.read().decode()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until_ready(url, processes):
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            if ask("GET", url)[0] == 200:
                return
        except OSError:
            pass
        assert all(process.poll() is None for process in processes), f"a process behind {url} ended"
        assert time.monotonic() < deadline, f"{url} is not ready"
        time.sleep(0.2)


class Site:
    """The service as its clients see it, and a key."""

    def __init__(self, port, key):
        self.origin, self.authority, self.key = f"http://127.0.0.1:{port}", ("127.0.0.1", port), key
        self.base = self.origin + PATH

    def create(self, kind, **fields):
        status, headers, text = ask("POST", f"{self.base}/v1/{kind}", fields, self.key)
        assert status < 300, f"{kind}: {status} {text}"
        return headers, json.loads(text)


def check_pages(site):
    """The pages, and every file that they name, are below the path."""
    for page in ("/docs", "/", "/calls/7"):
        status, _, text = ask("GET", site.base + page, accept="text/html")
        assert status == 200, f"{page}: {status} {text}"
        links = re.findall(r'(?:href|src)="(/[^"]*)"', text)
        assert links, f"{page} names no files: {text}"
        for link in links:
            assert link.startswith(f"{PATH}/"), f"{page} names {link}"
            status, headers, _ = ask("GET", site.origin + link)
            assert status == 200, f"{page} names {link}: {status}"
            if link.endswith(".js"):
                assert "javascript" in headers["Content-Type"], f"{link} is {headers['Content-Type']}"


def check_api(site):
    status, _, text = ask("GET", f"{site.base}/openapi.json")
    assert status == 200, text
    assert json.loads(text)["servers"][0]["url"] == PATH, text[:500]
    headers, agent = site.create("agents", name="Eve", instructions="Hi.")
    assert headers["Location"] == f"{PATH}/v1/agents/{agent['id']}", headers["Location"]
    status, _, found = ask("GET", site.origin + headers["Location"], key=site.key)
    assert (status, json.loads(found)["id"]) == (200, agent["id"]), found


def check_sign_in(site, issuer):
    """A sign-in at any loopback name gets to the provider, although nginx leaves out the port."""
    for name, most in (("127.0.0.1", 0), ("localhost", 1)):
        url = f"http://{name}:{site.authority[1]}{PATH}/auth/login?return_to=/calls"
        redirects = 0
        while True:
            status, headers, text = ask("GET", url, accept="text/html")
            assert status == 302, f"{url}: {status} {text}"
            url = headers["Location"]
            if url.startswith(f"{issuer}/authorize?"):
                break
            redirects += 1
            assert redirects < MOST_REDIRECTS, f"from {name} in circles: {url}"
            assert url.startswith(f"{site.base}/auth/login?"), f"from {name} to {url}"
        assert redirects <= most, f"{redirects} redirects from {name}"
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)
        assert query["redirect_uri"] == [f"{site.base}/auth/callback"], query


def check_web_call(site):
    """The socket of a web call is opened through nginx."""
    scripted = {"connection_id": site.create("connections", name="scripted", provider="scripted")[1]["id"]}
    agent = site.create("agents", name="Ava", instructions="Hi.", stt=scripted, llm=scripted, tts=scripted)[1]
    address = urllib.parse.urlsplit(site.create("calls", agent_id=agent["id"], to="web")[1]["web"]["url"])
    assert f"{address.scheme}://{address.netloc}" == site.origin.replace("http", "ws", 1), address
    assert address.path.startswith(f"{PATH}/media/web/"), address.path
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        f"GET {address.path} HTTP/1.1",
        f"Host: {address.netloc}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        "",
        "",
    ]
    with socket.create_connection(site.authority, timeout=TIMEOUT) as stream:
        stream.sendall("\r\n".join(lines).encode())
        head = b""
        while b"\r\n\r\n" not in head:
            piece = stream.recv(4096)
            assert piece, f"the socket was closed: {head}"
            head += piece
    head = head.split(b"\r\n\r\n")[0].decode()
    accepted = base64.b64encode(hashlib.sha1((key + WEBSOCKET_GUID).encode()).digest()).decode()
    assert head.startswith("HTTP/1.1 101 "), head
    assert re.search(rf"(?mi)^sec-websocket-accept: {re.escape(accepted)}\r?$", head), head


def start_nginx(folder, port, service):
    # As root, its workers would be of a user who may not enter the folder.
    user = "user root;" if os.geteuid() == 0 else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, user=user, port=port, path=PATH, service=service))
    return subprocess.Popen([NGINX, "-e", "stderr", "-p", str(folder), "-c", str(configuration)])


def start_service(folder, port, public, issuer):
    env = {name: value for name, value in os.environ.items() if not name.startswith("SWITCHHOOK_")}
    env |= {
        "SWITCHHOOK_DATA_DIR": str(folder / "data"),
        "SWITCHHOOK_LISTEN": f"127.0.0.1:{port}",
        "SWITCHHOOK_LOG": "warn",
        "SWITCHHOOK_PUBLIC_URL": public,
        "SWITCHHOOK_OIDC_ISSUER": issuer,
        "SWITCHHOOK_OIDC_CLIENT_ID": "switchhook",
    }
    made = subprocess.run([BINARY, "tenant", "create", "proxied", "--json"], env=env, check=True, stdout=subprocess.PIPE)
    key = json.loads(made.stdout)["api_key"]["key"]
    return key, subprocess.Popen([BINARY, "serve"], env=env, stdout=subprocess.DEVNULL)


def main():
    provider = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    issuer = issuer_of(provider)
    with tempfile.TemporaryDirectory(prefix="switchhook-proxy-") as folder:
        folder = pathlib.Path(folder)
        port, service = free_port(), free_port()
        processes = []
        try:
            key, process = start_service(folder, service, f"http://127.0.0.1:{port}{PATH}", issuer)
            processes.append(process)
            processes.append(start_nginx(folder, port, service))
            site = Site(port, key)
            wait_until_ready(f"{site.base}/readyz", processes)
            failed = []
            checks = {
                "pages and their files": lambda: check_pages(site),
                "the API and a Location": lambda: check_api(site),
                "a sign-in": lambda: check_sign_in(site, issuer),
                "the websocket of a web call": lambda: check_web_call(site),
            }
            for name, check in checks.items():
                try:
                    check()
                    print(f"ok  {name}", flush=True)
                except (AssertionError, OSError) as error:
                    failed.append(name)
                    print(f"FAILED  {name}: {error}", flush=True)
            assert not failed, failed
        finally:
            # On SIGTERM nginx's master ends its workers, too.
            for running in reversed(processes):
                running.send_signal(signal.SIGTERM)
                try:
                    running.wait(TIMEOUT)
                except subprocess.TimeoutExpired:
                    running.kill()
                    running.wait()


main()
