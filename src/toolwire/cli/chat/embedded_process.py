"""The process of a chat's own gateway, which runs the embedded model.

It watches its standard input, and ends when the chat does, however that ends.
"""

import os
import signal
import sys
import threading

from toolwire.cli import main


def _end_with_parent() -> None:
    """Wait until nobody holds the other end of standard input, and leave.

    Not with `sys.stdin`, whose lock would be held if the process ends first.
    """
    while os.read(sys.stdin.fileno(), 4096):
        continue
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    main()
