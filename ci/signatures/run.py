"""run.py BINARY SDKS: what the carriers' SDKs sign, sent to the service at several public addresses. Exits with 0 when it accepts that,
and refuses every forgery. SDKS is sdks.mjs."""

import base64
import datetime
import http.client
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
import urllib.request
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from urllib.parse import parse_qsl

from nacl.signing import SigningKey
from telnyx import Telnyx
from twilio.request_validator import RequestValidator

BINARY, SDKS = sys.argv[1:]
FORM, JSON = "application/x-www-form-urlencoded; charset=UTF-8", "application/json"
SETTINGS = "X-Twilio-Webhooks-Signature-Settings"
# As it is configured, and as the service gives it to carriers.
PUBLIC = {
    "https://voice.example.com": "https://voice.example.com",
    "https://voice.example.com:443/": "https://voice.example.com",
    "https://voice.example.com:8443/voice": "https://voice.example.com:8443/voice",
    "http://voice.example.com:80": "http://voice.example.com",
}
TENANTS = ["signatures", "another"]
REPORT = "CallSid=CA1&CallStatus=ringing&From=%2B12025550100&To=%2B12025550199"
FORMS = {
    "a report": REPORT,
    "fields in another order": "To=%2B12025550199&CallStatus=ringing&CallSid=CA1",
    "repeated fields": f"{REPORT}&K=b&K=a&K=a",
    "empty values": f"{REPORT}&CallerName=&ForwardedFrom",
    "blanks as + and %20, some at the ends": f"{REPORT}&CallerName=+Ana+Maria%20B%20",
    "emoji and other letters": f"{REPORT}&CallerName=Caf%C3%A9+%F0%9F%90%99&FromCity=%E6%9D%B1%E4%BA%AC",
    "signs": f"{REPORT}&Body=It%27s+1%2B1%3D2+%26+more~*'()",
    "names in both cases": f"{REPORT}&callToken=1&CallToken=2&_x=3&Z=4&a.b=5",
}
WEBHOOK = '{"data":{"event_type":"call.hangup","payload":{"call_control_id":"v3:x","hangup_cause":"user_busy"}}}'
WEBHOOKS = {
    "compact": WEBHOOK,
    "indented": json.dumps(json.loads(WEBHOOK), indent=2) + "\r\n",
    "emoji": WEBHOOK.replace('"v3:x"', '"v3:x","from":"Café 🐙"'),
    "escapes": WEBHOOK.replace('"v3:x"', '"v3:x","from":"\\u002b12025550199\\/"'),
}


class Sdks:
    """The SDKs for Node.js, in their own process."""

    def __init__(self):
        self.process = subprocess.Popen(["node", SDKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


class Fields(dict):
    """The fields of a form, in the interface of Django that the SDK for Python reads."""

    def __init__(self, body):
        self.pairs = parse_qsl(body, keep_blank_values=True)
        super().__init__(self.pairs)

    def getlist(self, name):
        return [value for known, value in self.pairs if known == name]


def signers(sdks):
    """By the name of each SDK: what signs an address and a form."""

    def node(of):
        def sign(secret, url, body="", algorithm=None):
            fields = Fields(body)
            return sdks.ask(of=of, secret=secret, url=url, fields={name: fields.getlist(name) for name in fields}, algorithm=algorithm)

        return sign

    def python(secret, url, body="", algorithm=None):
        return RequestValidator(secret).compute_signature(url, Fields(body), algorithm)

    twilio = {f"twilio {version('twilio')} (Python)": python, f"twilio {sdks.ask(of='version', name='twilio')} (Node.js)": node("twilio")}
    name = "@signalwire/compatibility-api"
    return twilio, {f"{name} {sdks.ask(of='version', name=name)}": node("signalwire")}


class Nothing(BaseHTTPRequestHandler):
    """The API of a carrier that knows no call."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.send_response(404)
        self.send_header("content-type", JSON)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_DELETE = do_POST


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Service:
    """The service at one public address. Its resources are in the folder, and stay when it is started at another one."""

    def __init__(self, folder, public):
        self.port = free_port()
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("SWITCHHOOK_")}
        self.env = inherited | {
            "SWITCHHOOK_DATA_DIR": str(folder / "data"),
            "SWITCHHOOK_LISTEN": f"127.0.0.1:{self.port}",
            "SWITCHHOOK_LOG": "error",
            "SWITCHHOOK_OUTBOUND_ALLOW": "127.0.0.0/8,http",
            "SWITCHHOOK_PUBLIC_URL": public,
        }
        self.process = None

    def tenant(self, name):
        command = [BINARY, "tenant", "create", name, "--json", "--rate-limit", "100000"]
        made = subprocess.run(command, env=self.env, check=True, stdout=subprocess.PIPE)
        return json.loads(made.stdout)["api_key"]["key"]

    def start(self):
        self.process = subprocess.Popen([BINARY, "serve"], env=self.env, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while True:
            try:
                return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5).read()
            except OSError:
                assert self.process.poll() is None, "the service ended"
                assert time.monotonic() < deadline, "the service does not respond"
                time.sleep(0.1)

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def api(self, key, method, path, body=None):
        headers = {"Content-Type": JSON, "Authorization": f"Bearer {key}"}
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=30) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode()}") from error

    def send(self, method, path, body="", headers=None):
        """Sends what a proxy forwards, byte for byte."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            sent = {"Host": "voice.example.com", "X-Forwarded-Proto": "https", **(headers or {})}
            for name, value in sent.items():
                connection.putheader(name, value)
            if method == "POST":
                connection.putheader("Content-Length", str(len(body.encode())))
            connection.endheaders(body.encode() if method == "POST" else None)
            response = connection.getresponse()
            # A websocket that was opened has no body, and is closed at once.
            return response.status, "" if response.status == 101 else response.read().decode()
        finally:
            connection.close()


def connections(service, api, telnyx_key):
    """Creates a tenant's connections, an agent and numbers. Returns the ids of the numbers, and the secrets."""
    made = {}
    for tenant in TENANTS:
        key = service.tenant(tenant)
        secrets = {name: f"{name} of {tenant}" for name in ["token", "shared", "signing"]}
        made[tenant] = (key, secrets, {})
    service.start()
    for tenant, (key, secrets, numbers) in made.items():
        create = lambda kind, **fields: service.api(key, "POST", f"/v1/{kind}", fields)["id"]
        by = {"connection_id": create("connections", name="scripted", provider="scripted")}
        agent = create("agents", name="Ava", instructions="Talk.", stt=by, llm=by, tts=by, greeting={"text": "Hello."})
        public_key = base64.b64encode(bytes(telnyx_key(tenant).verify_key)).decode()
        carriers = {
            "twilio": ({}, {"account_sid": "AC1", "auth_token": secrets["token"], "webhook_key_secret": secrets["shared"]}),
            "signalwire": ({"space": "example"}, {"project_id": "p", "api_token": "PT1", "signing_key": secrets["signing"]}),
            "telnyx": ({"connection_id": "1"}, {"api_key": "KEY1", "public_key": public_key}),
        }
        for provider, (settings, credentials) in carriers.items():
            settings = {**settings, "base_url": api}
            connection = create("connections", name=provider, provider=provider, settings=settings, credentials=credentials)
            numbers[provider] = create("numbers", number="+12025550199", connection_id=connection, inbound_agent_id=agent)
    service.stop()
    return made


class Checks:
    """What the service did with each request, beside what it should do."""

    def __init__(self):
        self.done, self.failed = Counter(), 0

    def status(self, who, what, got, wanted):
        self.done[who] += 1
        if got[0] != wanted:
            self.failed += 1
            print(f"FAILED  {who}: {what}: {got[0]} instead of {wanted} {got[1]}", flush=True)


def altered(signature):
    """Another signature of the same length."""
    return ("B" if signature[0] == "A" else "A") + signature[1:]


class Address:
    """An address of one carrier's connection, as it is public and as a proxy asks for it."""

    def __init__(self, service, public, tenant, made, provider, topic):
        self.service, (key, self.secrets, numbers) = service, made[tenant]
        inbound = service.api(key, "GET", f"/v1/numbers/{numbers[provider]}")["inbound_url"]
        assert inbound.startswith(f"{public}/carrier/"), inbound
        self.public, self.url = public, f"{inbound.rsplit('/', 1)[0]}/{topic}"

    def path(self, url=None):
        return (url or self.url)[len(self.public) :]

    def post(self, body, headers, kind=FORM, query=""):
        return self.service.send("POST", self.path() + query, body, {"Content-Type": kind, **headers})


def forms(checks, who, sign, here, elsewhere, header, secret, other):
    for name, body in FORMS.items():
        right = sign(secret, here.url, body)
        checks.status(who, name, here.post(body, {header: right}), 204)
        forged = {
            "one letter of a value": (body.replace("ringing", "ringinG"), right),
            "a field more": (f"{body}&Q=1", right),
            "one letter of the signature": (body, altered(right)),
            "a part of the signature": (body, right[:-1]),
            "another tenant's secret": (body, sign(other, here.url, body)),
            "another address": (body, sign(secret, elsewhere.url, body)),
        }
        for how, (body_sent, signature) in forged.items():
            checks.status(who, f"{name}, forged: {how}", here.post(body_sent, {header: signature}), 403)
        checks.status(who, f"{name}, not signed", here.post(body, {}), 403)
        checks.status(who, f"{name}, sent to another tenant", elsewhere.post(body, {header: right}), 403)


def addresses(checks, who, sign, here, header, secret):
    scheme, rest = here.url.split("://")
    host, path = rest.split("/", 1)
    bare = host.split(":")[0]
    usual = {"https": 443, "http": 80}[scheme]
    for name, url in {"without a port": f"{scheme}://{bare}/{path}", "with the usual port": f"{scheme}://{bare}:{usual}/{path}"}.items():
        checks.status(who, name, here.post(REPORT, {header: sign(secret, url, REPORT)}), 204)
    other = "http" if scheme == "https" else "https"
    forged = {
        "another scheme": f"{other}://{rest}",
        "a slash at the end": f"{here.url}/",
        "a user name": f"{scheme}://user:password@{rest}",
        "another port": f"{scheme}://{bare}:9443/{path}",
        "another host": f"{scheme}://x{rest}",
        "another query": f"{here.url}?a=2",
    }
    for name, url in forged.items():
        checks.status(who, f"signed for {name}", here.post(REPORT, {header: sign(secret, url, REPORT)}), 403)
    query = "?a=1&b=%2F&c=It's+1"
    signature = sign(secret, here.url + query, REPORT)
    checks.status(who, "a query", here.post(REPORT, {header: signature}, query=query), 204)
    checks.status(who, "a query that is changed", here.post(REPORT, {header: signature}, query=query.replace("a=1", "a=2")), 403)
    # The address of a number that is configured with GET holds what the caller's network says.
    sent = f"{here.url}?{REPORT}&FromCity=Sull%27Adda+B"
    for name, signed in {"as sent": sent, "with '": sent.replace("%27", "'"), "as Node.js": sent.replace("%27", "'").replace("+B", "%20B")}.items():
        signature = sign(secret, signed)
        checks.status(who, f"GET, escaped {name}", here.service.send("GET", here.path(sent), headers={header: signature}), 204)
        forged = here.service.send("GET", here.path(sent.replace("ringing", "ringinG")), headers={header: signature})
        checks.status(who, f"GET, escaped {name}, forged", forged, 403)


def hashed(checks, who, sign, here, header, secret):
    body = json.dumps({"CallSid": "CA1", "CallStatus": "ringing", "CallerName": "Café 🐙"}, ensure_ascii=False)
    query = f"?bodySHA256={RequestValidator('').compute_hash(body)}"
    right = {header: sign(secret, here.url + query)}
    checks.status(who, "JSON", here.post(body, right, JSON, query), 204)
    for how, other in {"another value": body.replace("ringing", "ringinG"), "a blank more": f"{body} ", "no body": ""}.items():
        checks.status(who, f"JSON, forged: {how}", here.post(other, right, JSON, query), 403)
    checks.status(who, "JSON without its hash", here.post(body, {header: sign(secret, here.url)}, JSON), 403)


def shared_key(checks, who, sign, here, header):
    for algorithm in ["HMAC_SHA1", "HMAC_SHA256"]:
        settings = {SETTINGS: f"key=WK1,algorithm={algorithm}"}
        signature = sign(here.secrets["shared"], here.url, REPORT, algorithm)
        checks.status(who, f"a shared key, {algorithm}", here.post(REPORT, {header: signature, **settings}), 204)
        checks.status(who, f"a shared key, {algorithm}, unsaid", here.post(REPORT, {header: signature}), 403)
        forged = here.post(REPORT.replace("ringing", "ringinG"), {header: signature, **settings})
        checks.status(who, f"a shared key, {algorithm}, forged", forged, 403)
    by_token = sign(here.secrets["token"], here.url, REPORT, "HMAC_SHA256")
    settings = {SETTINGS: "key=WK1,algorithm=HMAC_SHA256"}
    checks.status(who, "HMAC_SHA256 with the token", here.post(REPORT, {header: by_token, **settings}), 403)


def handshake(checks, who, sign, here, header, call):
    """A call that comes in, and the websocket for its media."""
    token = here.secrets["token"]
    voice = f"{here.url.rsplit('/', 1)[0]}/voice"
    body = f"CallSid={call}&CallStatus=ringing&Direction=inbound&From=%2B12025550100&To=%2B12025550199"
    headers = {"Content-Type": FORM, header: sign(token, voice, body)}
    status, document = here.service.send("POST", here.path(voice), body, headers)
    media = re.search(r'url="(wss?://[^"]+)"', document)
    assert status == 200 and media, f"{who}: a call that comes in: {status} {document}"
    media = media[1]
    https = media.replace("ws", "http", 1)
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
    }
    forged = {
        "for https": {header: sign(token, https)},
        "with another secret": {header: sign("x", media)},
        "for another call": {header: sign(token, f"{media}x")},
        "by nothing": {},
    }
    for how, headers in forged.items():
        answer = here.service.send("GET", here.path(https), headers={**upgrade, **headers})
        checks.status(who, f"a websocket signed {how}", answer, 403)
    answer = here.service.send("GET", here.path(https), headers={**upgrade, header.lower(): sign(token, media)})
    checks.status(who, "a websocket", answer, 101)


def telnyx(checks, sdks, here, elsewhere, key, other):
    public = base64.b64encode(bytes(key.verify_key)).decode()
    client = Telnyx(api_key="KEY", public_key=public)

    def python(body, headers):
        try:
            client.webhooks.unwrap(body, headers=headers)
            return True
        except Exception:  # it has several, of its own and others
            return False

    judges = {
        f"telnyx {version('telnyx')} (Python)": python,
        f"telnyx {sdks.ask(of='version', name='telnyx')} (Node.js)": lambda body, headers: sdks.ask(
            of="telnyx", key=public, body=body, headers=headers
        ),
    }

    def signed(body, by=key, late=0):
        at = str(int(time.time()) - late)
        signature = base64.b64encode(by.sign(f"{at}|{body}".encode()).signature).decode()
        return {"Telnyx-Signature-Ed25519": signature, "Telnyx-Timestamp": at}

    for name, body in WEBHOOKS.items():
        right = signed(body)
        signature, at = right.values()
        upper = {header.upper(): value for header, value in right.items()}
        cases = {
            name: (body, right, True),
            f"{name}, headers in upper case": (body, upper, True),
            f"{name}, signed two minutes ago": (body, signed(body, late=120), True),
            f"{name}, signed ten minutes ago": (body, signed(body, late=600), False),
            f"{name}, signed in ten minutes": (body, signed(body, late=-600), False),
            f"{name}, forged: one letter": (body.replace("user_busy", "user_busY"), right, False),
            f"{name}, forged: a blank more": (f"{body} ", right, False),
            f"{name}, forged: another time": (body, {**right, "Telnyx-Timestamp": str(int(at) - 1)}, False),
            f"{name}, forged: another key": (body, signed(body, by=other), False),
            f"{name}, forged: one letter of the signature": (body, {**right, "Telnyx-Signature-Ed25519": altered(signature)}, False),
            f"{name}, a part of the signature": (body, {**right, "Telnyx-Signature-Ed25519": signature[:-2]}, False),
            f"{name}, no signature": (body, {"Telnyx-Timestamp": at}, False),
            f"{name}, no time": (body, {"Telnyx-Signature-Ed25519": signature}, False),
            f"{name}, time in words": (body, {**right, "Telnyx-Timestamp": "now"}, False),
        }
        for what, (sent, headers, good) in cases.items():
            for who, accepts in judges.items():
                assert accepts(sent, headers) == good, f"{who}: {what}: the SDK differs"
                checks.status(who, what, here.post(sent, headers, JSON), 204 if good else 403)
        for who in judges:
            checks.status(who, f"{name}, sent to another tenant", elsewhere.post(body, right, JSON), 403)


def at(service, public, made, sdks, keys, checks, number):
    """Asks the service at one public address everything."""
    twilio, signalwire = signers(sdks)
    carriers = [("twilio", twilio, "X-Twilio-Signature", "token"), ("signalwire", signalwire, "X-SignalWire-Signature", "signing")]
    for provider, sdks_of, header, secret in carriers:
        here, elsewhere = (Address(service, public, tenant, made, provider, "status") for tenant in TENANTS)
        for turn, (who, sign) in enumerate(sdks_of.items()):
            forms(checks, who, sign, here, elsewhere, header, here.secrets[secret], elsewhere.secrets[secret])
            addresses(checks, who, sign, here, header, here.secrets[secret])
            hashed(checks, who, sign, here, header, here.secrets[secret])
            if provider == "twilio":
                shared_key(checks, who, sign, here, header)
                handshake(checks, who, sign, here, header, f"CA{number:016x}{turn:016x}")
    here, elsewhere = (Address(service, public, tenant, made, "telnyx", "events") for tenant in TENANTS)
    telnyx(checks, sdks, here, elsewhere, *(keys[tenant] for tenant in TENANTS))


def main():
    api = ThreadingHTTPServer(("127.0.0.1", 0), Nothing)
    threading.Thread(target=api.serve_forever, daemon=True).start()
    keys = {tenant: SigningKey.generate() for tenant in TENANTS}
    sdks, service, failed = Sdks(), None, 0
    print(f"signatures, {datetime.date.today():%d %B %Y}", flush=True)
    with tempfile.TemporaryDirectory(prefix="switchhook-signatures-") as folder:
        folder = pathlib.Path(folder)
        try:
            service = Service(folder, "http://127.0.0.1")
            made = connections(service, f"http://127.0.0.1:{api.server_address[1]}", keys.get)
            for number, (configured, public) in enumerate(PUBLIC.items()):
                service = Service(folder, configured)
                service.start()
                checks = Checks()
                at(service, public, made, sdks, keys, checks, number)
                service.stop()
                failed += checks.failed
                for who, count in checks.done.items():
                    print(f"{configured:38}  {who:40}  {count:4} requests", flush=True)
        finally:
            if service:
                service.stop()
            sdks.process.kill()
    print(f"{failed} requests with another answer than they should have" if failed else "ok")
    sys.exit(failed > 0)


main()
