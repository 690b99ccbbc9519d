"""However many schemas clients send, what is kept of them is bounded, and only in memory (R6)."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.gateway.sizes import size
from tests.hard.figures import note

SCHEMAS = size(4_000, 100_000)
CACHE = size(4, 64)
"""MiB; the allocator may keep 16 more."""

READ_MANY = f"""
import json, os
from msgspec import Raw
from toolwire.surfaces.openai.tools import ToolReader

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

def tools(number):
    names = [f"p{{number}}_{{at}}" for at in range(8)]
    properties = {{name: {{"type": "string", "maxLength": 9}} for name in names}}
    function = {{"name": "f", "parameters": {{"type": "object", "properties": properties}}}}
    return Raw(json.dumps([{{"type": "function", "function": function}}]).encode())

reader = ToolReader(max_tools=128, cache_bytes={CACHE} << 20)
reader.read(tools(-1))
before = resident()
for number in range({SCHEMAS}):
    reader.read(tools(number))
print((resident() - before) >> 20)
"""


@pytest.mark.timeout(size(120, 900))
def test_unique_schemas_do_not_fill_the_memory_or_the_disk(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ_MANY],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    note(f"{int(done.stdout)} MB kept after {SCHEMAS} schemas")
    assert int(done.stdout) <= CACHE + 16
    assert list(tmp_path.iterdir()) == []
