"""run.py BINARY: calls of the service through LiteLLM's proxy, in each dialect. Exits with 0 when every call books one table and ends."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version

BINARY = sys.argv[1]
KEY = "sk-0123456789abcdef"
OWN, CALLEE = "+12025550199", "+12025550109"  # the second answers and holds the line
CALL_SECONDS = 30
START_SECONDS = 120  # LiteLLM imports for half a minute on a busy machine


class Model(BaseHTTPRequestHandler):
    """An OpenAI-compatible server whose model books a table and says goodbye, and the service that books."""

    protocol_version = "HTTP/1.1"
    booked = 0

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/book":
            Model.booked += 1
            return self.reply("application/json", [json.dumps({"state": "booked", "table": 7}).encode()])
        if body["model"] != "restaurant":
            return self.reply("application/json", [json.dumps({"error": {"message": "No such model."}}).encode()], 404)
        booked = any(message["role"] == "tool" for message in body["messages"])
        name, arguments = ("end_call", {}) if booked else ("book", {"day": "Friday"})
        offered = [tool["function"]["name"] for tool in body.get("tools", [])]
        text = "It is booked. Goodbye." if booked else "Let me book that."
        call = {"index": 0, "id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        message = {"role": "assistant", "content": text, **({"tool_calls": [call]} if name in offered else {})}
        reason = "tool_calls" if name in offered else "stop"
        about = {"id": "chatcmpl-1", "created": 1, "model": "restaurant"}
        usage = {"prompt_tokens": 30, "completion_tokens": 9, "total_tokens": 39}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            whole = {**about, "object": "chat.completion", "choices": [choice], "usage": usage}
            return self.reply("application/json", [json.dumps(whole).encode()])
        chunk = lambda delta, reason=None: {
            **about, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]
        }
        deltas = [{"role": "assistant", "content": ""}, *({"content": word + " "} for word in text.split())]
        if name in offered:
            deltas.append({"tool_calls": [call]})
        chunks = [chunk(delta) for delta in deltas] + [chunk({}, reason), {**about, "choices": [], "usage": usage}]
        events = [f"data: {json.dumps(one)}\n\n".encode() for one in chunks] + [b"data: [DONE]\n\n"]
        self.reply("text/event-stream", events)

    def reply(self, kind, pieces, status=200):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(sum(map(len, pieces))))
        self.end_headers()
        for piece in pieces:
            self.wfile.write(piece)
            self.wfile.flush()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def request(method, url, body=None, key=None):
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=30) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def wait_for(url, process, seconds):
    deadline = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).read()
            return
        except OSError:
            assert process.poll() is None, f"the process behind {url} ended"
            assert time.monotonic() < deadline, f"{url} does not respond"
            time.sleep(0.2)


def dialects(gateway):
    """The settings of a connection for each dialect of the proxy."""
    azure = f"{gateway}/openai/deployments/restaurant"
    return {
        "openai": ("openai", {"base_url": f"{gateway}/v1", "kinds": ["llm"]}),
        "azure": ("openai", {"base_url": azure, "kinds": ["llm"], "key_header": "api-key", "query": {"api-version": "2024-10-21"}}),
        "anthropic": ("anthropic", {"base_url": gateway}),
        "gemini": ("gemini", {"base_url": f"{gateway}/v1beta"}),
    }


class Service:
    def __init__(self, folder, tool):
        port = free_port()
        self.base, self.tool = f"http://127.0.0.1:{port}", tool
        env = {name: value for name, value in os.environ.items() if not name.startswith("SWITCHHOOK_")}
        env |= {
            "SWITCHHOOK_DATA_DIR": str(folder / "data"),
            "SWITCHHOOK_LISTEN": f"127.0.0.1:{port}",
            "SWITCHHOOK_LOG": "warn",
            "SWITCHHOOK_OUTBOUND_ALLOW": "127.0.0.0/8,http",
        }
        made = subprocess.run([BINARY, "tenant", "create", "gateway", "--json", "--rate-limit", "100000"], env=env, check=True, stdout=subprocess.PIPE)
        self.key = json.loads(made.stdout)["api_key"]["key"]
        self.process = subprocess.Popen([BINARY, "serve"], env=env, stdout=subprocess.DEVNULL)
        wait_for(f"{self.base}/healthz", self.process, 30)
        self.scripted = {"connection_id": self.create("connections", name="scripted", provider="scripted")["id"]}
        network = self.create("connections", name="network", provider="simulator", settings={"time_scale": 0.05})
        self.create("numbers", number=OWN, connection_id=network["id"])

    def create(self, kind, **fields):
        status, made = request("POST", f"{self.base}/v1/{kind}", fields, self.key)
        assert status < 300, made
        return made

    def connect(self, name, provider, settings):
        credentials = {"api_key": KEY}
        return self.create("connections", name=name, provider=provider, settings=settings, credentials=credentials)["id"]

    def test(self, connection):
        return request("POST", f"{self.base}/v1/connections/{connection}/test", {}, self.key)[1]

    def call(self, name, connection, model):
        parameters = {"type": "object", "required": ["day"], "properties": {"day": {"type": "string"}}}
        tool = {"type": "http", "name": "book", "description": "Books a table.", "url": self.tool, "parameters": parameters}
        agent = self.create(
            "agents", name=name, instructions="Book a table.", stt=self.scripted, tts=self.scripted,
            llm={"connection_id": connection, "model": model}, greeting={"mode": "generate"}, tools=[tool],
            analysis={"summary": False},
        )
        call = self.create("calls", agent_id=agent["id"], to=CALLEE)["id"]
        deadline = time.monotonic() + CALL_SECONDS
        while True:
            shown = request("GET", f"{self.base}/v1/calls/{call}", key=self.key)[1]
            if shown["status"] in ("completed", "failed"):
                lines = request("GET", f"{self.base}/v1/calls/{call}/transcript", key=self.key)[1]
                return shown, lines
            assert time.monotonic() < deadline, f"the call of {name} does not end: {shown}"
            time.sleep(0.1)


def start_gateway(folder, model):
    port = free_port()
    served = {"model": "hosted_vllm/restaurant", "api_base": f"{model}/v1", "api_key": "sk-none"}
    config = {"model_list": [{"model_name": "restaurant", "litellm_params": served}], "general_settings": {"master_key": KEY}}
    (folder / "litellm.yaml").write_text(json.dumps(config))
    program = pathlib.Path(sys.executable).with_name("litellm")
    options = ["--config", str(folder / "litellm.yaml"), "--host", "127.0.0.1", "--port", str(port)]
    env = {**os.environ, "LITELLM_TELEMETRY": "False", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    log = open(folder / "litellm.log", "wb")
    process = subprocess.Popen([program, *options], env=env, stdout=log, stderr=log)
    return f"http://127.0.0.1:{port}", process


def check(service, name, provider, settings):
    connection = service.connect(name, provider, settings)
    if name != "azure":  # whose address names the model
        unknown = service.connect(f"{name}-unknown", provider, {**settings, "model": "nowhere"})
        refused = service.test(unknown)["checks"][0]
        assert not refused["ok"] and "nowhere" in refused["detail"], f"{name}: an unknown model: {refused}"
    before = Model.booked
    shown, lines = service.call(name, connection, "restaurant")
    booked = Model.booked - before
    said = json.dumps(lines)
    assert booked == 1, f"{name}: {booked} tables are booked: {shown} {said}"
    assert shown["end_reason"] == "agent_hangup", f"{name}: {shown}"
    assert "It is booked. Goodbye." in said and "Let me book that." in said, f"{name}: {said}"
    print(f"ok  {name}", flush=True)


def main():
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{model.server_address[1]}"
    with tempfile.TemporaryDirectory(prefix="switchhook-gateway-") as folder:
        folder = pathlib.Path(folder)
        gateway, process = start_gateway(folder, address)
        service = None
        try:
            wait_for(f"{gateway}/health/liveliness", process, START_SECONDS)
            service = Service(folder, f"{address}/book")
            print(f"litellm {version('litellm')}", flush=True)
            failed = []
            for name, (provider, settings) in dialects(gateway).items():
                try:
                    check(service, name, provider, settings)
                except AssertionError as error:
                    failed.append(name)
                    print(f"FAILED  {error}", flush=True)
            assert not failed, f"{failed}; the end of LiteLLM's log:\n{(folder / 'litellm.log').read_text()[-3000:]}"
        finally:
            for running in filter(None, [process, service and service.process]):
                running.send_signal(signal.SIGKILL)
                running.wait()


main()
