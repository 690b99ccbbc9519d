"""What is measured: nginx, Toolwire, the floor, or any other command, all started alike."""

import hashlib
import http.client
import shlex
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.process import Process
from harness.toolchain import SOURCES, find_program

KEY = "sk-benchmark-0123456789abcdef0123456789abcdef"
START_LIMIT = 60.0


@dataclass(frozen=True)
class Site:
    """Where a subject is to run: its folder, its port, and the mock behind it."""

    folder: Path
    port: int
    mock_port: int

    @property
    def upstream(self) -> str:
        """The mock, as an OpenAI base URL."""
        return f"http://127.0.0.1:{self.mock_port}/v1"


Command = Callable[[Site], list[str]]

_NGINX_CONF = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr;
events {{ worker_connections 2048; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s;
  client_max_body_size 20m; client_body_buffer_size 64k;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  upstream mock {{
    server 127.0.0.1:{mock_port}; keepalive 256; keepalive_requests 1000000000;
  }}
  server {{
    listen 127.0.0.1:{port};
    location = /healthz {{ return 200; }}
    location / {{
      proxy_pass http://mock; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off;
    }}
  }}
}}
"""


def _nginx(site: Site) -> list[str]:
    program = find_program(("nginx",), "nginx-light")
    conf = site.folder / "nginx.conf"
    conf.write_text(
        _NGINX_CONF.format(folder=site.folder, port=site.port, mock_port=site.mock_port)
    )
    return [program, "-p", str(site.folder), "-e", "stderr", "-c", str(conf)]


_TOOLWIRE_CONF = """
[repair]
streams = "live"                # the costliest: every piece of a call is sent on as it comes

[[keys]]
name = "benchmark"
sha256 = "{digest}"

[[models]]
name = "mock-model"
backend = {{ url = "{upstream}" }}
"""


def _toolwire(site: Site) -> list[str]:
    """Everything that a server open to others has on, the check of client keys included."""
    conf = site.folder / "toolwire.toml"
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    conf.write_text(_TOOLWIRE_CONF.format(digest=digest, upstream=site.upstream))
    options = {"--config": conf, "--host": "127.0.0.1", "--port": site.port}
    words = [str(word) for option in options.items() for word in option]
    return [sys.executable, "-m", "toolwire", "serve", *words]


def _floor(site: Site) -> list[str]:
    return [sys.executable, str(SOURCES / "floor.py"), str(site.port), str(site.mock_port)]


COMMANDS: dict[str, Command] = {"toolwire": _toolwire, "nginx": _nginx, "floor": _floor}


def custom_command(template: str) -> Command:
    """Make a command from a line with {port}, {mock_port}, {upstream} and {key} in it."""

    def command(site: Site) -> list[str]:
        values = {
            "{port}": str(site.port),
            "{mock_port}": str(site.mock_port),
            "{upstream}": site.upstream,
            "{key}": KEY,
        }
        line = template
        for name, value in values.items():
            line = line.replace(name, value)
        return shlex.split(line)

    return command


@dataclass(frozen=True)
class Subject:
    """Something that answers on a port, and how long it took to do so."""

    name: str
    port: int
    process: Process
    start_seconds: float


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start(
    name: str, command: list[str], port: int, *, core: int, log: Path, health: str
) -> Subject:
    """Start a server and wait until `health` answers with 200."""
    begun = time.perf_counter()
    process = Process(command, core=core, log=log)
    while not _answers(port, health):
        if not process.running or time.perf_counter() - begun > START_LIMIT:
            process.stop()
            said = log.read_text(errors="replace")[-2000:]
            raise SystemExit(f"{name} does not answer on {health}.\n{shlex.join(command)}\n{said}")
        time.sleep(0.002)
    return Subject(name, port, process, time.perf_counter() - begun)


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {KEY}"})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
