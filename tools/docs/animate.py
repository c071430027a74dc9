"""Animate a picture of a command: its curves and marks appear from left to right, as a capture arrives.

    python3 tools/docs/animate.py out/flow-1-delay.svg docs/pictures/diagnose-delay-animated.svg

The picture plays three times and then stands still. It does not move for readers who prefer reduced motion.
"""

import pathlib
import re
import sys

SECONDS = 12
STYLE = """<style>
.sweep {{ transform-origin: {left}px 0; animation: sweep {seconds}s linear 3 }}
.now {{ opacity: 0; animation: now {seconds}s linear 3 }}
@keyframes sweep {{ from {{ transform: scaleX(0) }} 75%, to {{ transform: none }} }}
@keyframes now {{ from {{ opacity: 1 }} 75% {{ opacity: 1; transform: translateX({width}px) }} 76%, to {{ opacity: 0 }} }}
@media (prefers-reduced-motion: reduce) {{ .sweep, .now {{ animation: none }} }}
</style>
<defs><clipPath id="seen"><rect class="sweep" x="{left}" y="0" width="{width}" height="{bottom}"/></clipPath></defs>
"""


def animated(picture: str) -> str:
    """Return the picture with its curves behind a clip that widens."""
    grid = re.search(r'<path [^>]*d="M(\d+) (\d+)h(\d+)', picture)
    # Curves and marks come after the labels of the axes and before the first entry of the legend.
    entry = picture.index('<path fill="none" stroke="#1F2328" stroke-width="17" d="M550 ')
    curves = picture.index("<polygon ")
    if not grid or not curves < entry:
        raise SystemExit("the picture has no grid, or no curves before its legend")
    left, bottom, width = map(int, grid.groups())
    # Marks extend a little beyond the grid.
    place = {"left": left - 60, "width": width + 120, "bottom": bottom + 60, "seconds": SECONDS}
    head = picture.index("\n", picture.index("</desc>")) + 1
    line = f'<path class="now" stroke="#1F2328" stroke-width="14" d="M{place["left"]} 300V{bottom}"/>\n'
    shown = f'<g clip-path="url(#seen)">\n{picture[curves:entry]}</g>\n{line}'
    return picture[:head] + STYLE.format(**place) + picture[head:curves] + shown + picture[entry:]


def main() -> None:
    """Read the first file and write the second."""
    source, target = map(pathlib.Path, sys.argv[1:3])
    target.write_text(animated(source.read_text()))


if __name__ == "__main__":
    main()
