"""Draws figures from tidy data, in one line of code each, with matplotlib (`pip install whyloss[plot]`).

Every function accepts tables of any Arrow library, draws on `ax` or on new axes, and returns the axes for further changes
with matplotlib. Means have their 95 % confidence intervals (Student's t).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._whyloss import Table, half_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours that remain distinct for red-green colour-blind readers (Okabe & Ito 2008), with as many
# markers and dashes.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")
# The colour and the marker of each cause. A test compares them with those of the command's pages.
CAUSES = {
    "congestion": ("#D55E00", "s"),
    "wireless": ("#0072B2", "^"),
}
NOT_ASKED = "X"


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    made: Axes = plt.subplots(layout="constrained")[1]
    return made


def _marker(index: int) -> str:
    """Return the marker of an item. When colours repeat, the markers differ."""
    return MARKERS[(index + 3 * (index // len(COLOURS))) % len(MARKERS)]


def _columns(table: object) -> dict[str, list[Any]]:
    return Table.from_arrow(table).to_dict()


def _only(columns: Mapping[str, list[Any]], where: Mapping[str, object]) -> list[int]:
    rows = range(len(next(iter(columns.values()), [])))
    return [row for row in rows if all(columns[key][row] == value for key, value in where.items())]


def _words(metric: str) -> str:
    """Return a metric's key in words: "total.lost.congestion" is "lost, congestion", "flow.video.mw" "Mw of video"."""
    family, _, key = metric.partition(".")
    item = ""
    if family in ("flow", "link", "frames"):
        item, _, key = key.partition(".")
    key = (key or metric).removesuffix("_bps").removesuffix("_ms")
    words = {"mc": "Mc", "mw": "Mw"}.get(key, key.replace(".", ", ").replace("_", " "))
    return f"{words} of {item}" if item else words


def _label(metric: str, unit: str, scale: float) -> str:
    scaled = {("bit/s", 1e6): "Mbit/s", ("bit/s", 1e3): "kbit/s"}.get((unit, scale), unit)
    return f"{_words(metric)} ({scaled})" if scaled else _words(metric)


def over(
    rows: object,
    x: str,
    y: str = "total.throughput_bps",
    by: str | None = None,
    *,
    where: Mapping[str, object] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw means of a metric over an axis of a sweep, with intervals over the seeds and a line for each value of `by`.

    `where` selects rows, such as `{"flows": 4}`. Rows that differ in other columns are averaged, like seeds.
    """
    columns = _columns(rows)
    unit = Table.from_arrow(rows).units.get(y, "")
    groups: dict[object, dict[Any, list[float]]] = {}
    for row in _only(columns, where or {}):
        value = columns[y][row]
        points = groups.setdefault(columns[by][row] if by else None, {}).setdefault(columns[x][row], [])
        if value is not None:
            points.append(value)
    ax = _axes(ax)
    values = [value for lines in groups.values() for point in lines.values() for value in point]
    scale = 1.0
    if unit == "bit/s" and values:
        scale = 1e6 if max(values) >= 1e6 else 1e3
    for index, (name, line) in enumerate(groups.items()):
        known = sorted((at, seeds) for at, seeds in line.items() if seeds)
        means = [sum(seeds) / len(seeds) / scale for _, seeds in known]
        halves = [(half_width(seeds) or 0.0) / scale for _, seeds in known]
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index // len(COLOURS) % len(DASHES)]
        style: dict[str, Any] = {"color": colour, "linestyle": dash, "marker": _marker(index)}
        style |= {"markersize": 4, "linewidth": 1.2, "capsize": 2, "elinewidth": 0.8}
        ax.errorbar([at for at, _ in known], means, halves, label=None if name is None else str(name), **style)
    ax.set_xlabel(x)
    ax.set_ylabel(_label(y, unit, scale))
    ax.grid(alpha=0.3)
    if by:
        ax.legend(title=by, frameon=False, fontsize="small")
    return ax


def timeline(
    trace: Mapping[str, object],
    flow: str,
    *,
    column: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a flow's window (TCP, IFTP) or rate (TFRC) over time, and its losses. Colours show causes, markers show verdicts.

    `trace`: the trace of a Results. `column`: another column of its table `sources`.
    """
    sources = _columns(trace["sources"])
    rows = _only(sources, {"flow": flow})
    if column is None:
        has_window = any(sources["cwnd_bytes"][row] is not None for row in rows)
        column = "cwnd_bytes" if has_window else "rate_bytes_per_s"
    known = [(sources["time_s"][row], sources[column][row]) for row in rows if sources[column][row] is not None]
    ax = _axes(ax)
    ax.step([at for at, _ in known], [value for _, value in known], where="post", color="#555555", linewidth=1)
    losses = _columns(trace["losses"])
    top = max((value for _, value in known), default=1.0)
    seen = [(truth, verdict) for truth in CAUSES for verdict in (*CAUSES, None)]
    for index, (truth, verdict) in enumerate(seen):
        at = [losses["time_s"][row] for row in _only(losses, {"flow": flow, "truth": truth, "verdict": verdict})]
        if at:
            colour, sign = CAUSES[truth][0], CAUSES[verdict][1] if verdict else NOT_ASKED
            label = f"{truth}, called {verdict}" if verdict else f"{truth}, not judged"
            height = top * (1.03 + 0.035 * index)
            ax.plot(at, [height] * len(at), sign, color=colour, markersize=4, linestyle="none", label=label)
    ax.set_xlabel("time (s)")
    ax.set_ylabel(column.replace("_per_s", "/s").replace("_", " "))
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    ax.set_title(flow, fontsize="medium")
    return ax


def confusion(flows: object, flow: str | None = None, *, of: str = "packets", ax: Axes | None = None) -> Axes:
    """Draw a confusion matrix: the number of losses by true cause and verdict; `of`: "packets" or "gaps".

    `flows`: the table of a Results. `flow`: one flow; by default all except background traffic.
    """
    columns = _columns(flows)
    rows = _only(columns, {"name": flow} if flow else {"background": False})
    causes = tuple(CAUSES)
    counts = [[sum(columns[f"{of}.{t}_called_{v}"][row] or 0 for row in rows) for v in causes] for t in causes]
    ax = _axes(ax)
    shares = [[count / max(sum(line), 1) for count in line] for line in counts]
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for i, line in enumerate(counts):
        for j, count in enumerate(line):
            dark = shares[i][j] > 0.5
            ax.text(j, i, f"{count}\n{shares[i][j]:.0%}", ha="center", va="center", color="white" if dark else "black")
    ax.set_xticks(range(2), [f"called {cause}" for cause in causes])
    ax.set_yticks(range(2), causes, rotation=90, va="center")
    ax.set_ylabel("cause")
    return ax


def mc_mw(
    rows: object,
    by: str,
    *,
    mc: str = "total.mc",
    mw: str = "total.mw",
    where: Mapping[str, object] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw Mc against Mw, with a point for each value of `by`.

    The oracle is in the lower left corner, `unaware` in the lower right. Mc is the share of congestion losses called wireless,
    Mw that of wireless losses called congestion.
    """
    columns = _columns(rows)
    groups: dict[object, tuple[list[float], list[float]]] = {}
    for row in _only(columns, where or {}):
        point = groups.setdefault(columns[by][row], ([], []))
        for values, metric in zip(point, (mw, mc), strict=True):
            if columns[metric][row] is not None:
                values.append(columns[metric][row])
    ax = _axes(ax)
    for index, (name, (xs, ys)) in enumerate(groups.items()):
        if not xs or not ys:
            continue
        style: dict[str, Any] = {"color": COLOURS[index % len(COLOURS)], "marker": _marker(index)}
        x, y = sum(xs) / len(xs), sum(ys) / len(ys)
        ax.errorbar(x, y, half_width(ys) or 0.0, half_width(xs) or 0.0, label=str(name), capsize=2, linestyle="none", **style)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel("Mw: wireless losses called congestion")
    ax.set_ylabel("Mc: congestion losses called wireless")
    ax.grid(alpha=0.3)
    ax.legend(title=by, frameon=False, fontsize="small")
    return ax


__all__: Sequence[str] = ["confusion", "mc_mw", "over", "timeline"]
