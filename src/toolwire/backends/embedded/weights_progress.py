"""Shows the progress of a download, by the size of the files in its folder.

pip does the download, and this works with every version of it.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_EVERY = 0.2


@contextmanager
def watching(text: str, folder: Path, expected: int) -> Iterator[None]:
    """While the block runs: a progress bar on a terminal, a single line elsewhere."""
    if not sys.stderr.isatty():
        print(f"{text} ({expected / 1e6:.0f} MB) ...", file=sys.stderr, flush=True)  # noqa: T201
        yield
        return
    over = threading.Event()
    painter = threading.Thread(target=_paint, args=(text, folder, expected, over), daemon=True)
    painter.start()
    try:
        yield
    finally:
        over.set()
        painter.join()


def _paint(text: str, folder: Path, expected: int, over: threading.Event) -> None:
    from rich.console import Console  # noqa: PLC0415 - only for the one start that downloads
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(text, total=expected)
        while not over.wait(_EVERY):
            progress.update(task, completed=min(_size(folder), expected))


def _size(folder: Path) -> int:
    """Return the size of the largest file in the folder. Files may vanish meanwhile."""
    largest = 0
    for path in folder.rglob("*"):
        try:
            largest = max(largest, path.stat().st_size)
        except OSError:
            continue
    return largest
