"""Draw what py-spy recorded as a small flame graph.

    py-spy record -f raw -o RAW -- python SCRIPT
    python benchmarks/flame_graph.py RAW --root search_fused -o docs/img/NAME.svg

Only frames of lakejoin are drawn, from the function `--root` on, as wide as their share of its
samples; those below one in a hundred are left out. Titles say the share.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

_WIDTH, _HEIGHT, _LEAST = 1000, 16, 0.01
_LETTER = 6.2  # the width of a letter
_COLOURS = ("#f6c28b", "#f2a65a", "#eec170", "#e9b872", "#f4b393")


@dataclass
class Frame:
    """A function with its samples, and the functions that it called."""

    samples: int = 0
    calls: dict[str, Frame] = field(default_factory=dict)


def read_frames(path: Path, root: str) -> Frame:
    """The tree of calls below a function."""
    top = Frame()
    for line in path.read_text(encoding="utf-8").splitlines():
        stack, _, samples = line.rpartition(" ")
        names = [frame for frame in stack.split(";") if "(lakejoin/" in frame]
        begin = next((i for i, name in enumerate(names) if name.startswith(root)), None)
        if begin is None:
            continue
        frame = top
        frame.samples += int(samples)
        for name in names[begin:]:
            function = name.partition(" (")[0]
            module = name.partition("(lakejoin/")[2].partition(":")[0]
            frame = frame.calls.setdefault(f"{function} ({module})", Frame())
            frame.samples += int(samples)
    return top


def draw(frame: Frame, total: int, left: float, depth: int) -> Iterator[tuple[int, str]]:
    """The rectangles of the calls of a frame, each with its depth."""
    for name, call in sorted(frame.calls.items()):
        share = call.samples / total
        if share >= _LEAST:
            width, y = share * _WIDTH, depth * _HEIGHT
            colour = _COLOURS[sum(map(ord, name)) % len(_COLOURS)]
            shown = name.partition(" (")[0][: max(0, int(width / _LETTER) - 1)]
            yield (
                depth,
                f'<g><title>{escape(name)}: {share:.1%}</title><rect x="{left:.1f}" y="{y}" '
                f'width="{width:.1f}" height="{_HEIGHT - 1}" fill="{colour}"/>'
                f'<text x="{left + 2:.1f}" y="{y + 11}">{escape(shown)}</text></g>',
            )
            yield from draw(call, total, left, depth + 1)
        left += share * _WIDTH


def main() -> None:
    """Reads the samples and writes the drawing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("raw", type=Path)
    parser.add_argument("--root", default="search_fused")
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    top = read_frames(given.raw, given.root)
    drawn = list(draw(top, max(1, top.samples), 0.0, 0))
    height = _HEIGHT * (1 + max((depth for depth, _ in drawn), default=0))
    shapes = "\n".join(shape for _, shape in drawn)
    given.output.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'font-family="monospace" font-size="10">\n{shapes}\n</svg>\n',
        encoding="utf-8",
    )
    print(f"{top.samples:,} samples, {len(drawn)} frames: {given.output}")


if __name__ == "__main__":
    main()
