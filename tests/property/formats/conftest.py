"""Lets the tests of this folder share `cases` and `laws`, which are no package of their own."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
