#!/usr/bin/env python3
"""Plot what `firebrick bench growth MODEL --json` printed: milliseconds a step against streams and against context.

Usage: plot_growth.py GROWTH.json OUT.svg
"""
import json
import math
import sys

WIDTH, HEIGHT, MARGIN = 460, 300, 50


def panel(points: list[tuple[float, float]], left: int, title: str, logarithmic: bool) -> list[str]:
    """One chart of (x, milliseconds) as SVG elements, its left edge at `left`."""
    scale = math.log2 if logarithmic else float
    xs = [scale(x) for x, _ in points]
    top = max(y for _, y in points) * 1.05
    span = (xs[-1] - xs[0]) or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        inner = WIDTH - 2 * MARGIN
        return left + MARGIN + (x - xs[0]) / span * inner, HEIGHT - MARGIN - y / top * (HEIGHT - 2 * MARGIN)

    line = " ".join("%.1f,%.1f" % place(x, y) for x, (_, y) in zip(xs, points))
    (x0, y0), (x1, y1) = place(xs[0], 0), place(xs[-1], top)
    out = [
        f'<text x="{left + WIDTH / 2}" y="20" text-anchor="middle">{title}</text>',
        f'<path d="M{x0},{y1} V{y0} H{x1}" fill="none" stroke="#888"/>',
        f'<polyline points="{line}" fill="none" stroke="#c33" stroke-width="1.5"/>',
    ]
    for (value, _), x in ((points[0], xs[0]), (points[-1], xs[-1])):
        at, below = place(x, 0)
        out.append(f'<text x="{at:.0f}" y="{below + 16:.0f}" text-anchor="middle">{value:g}</text>')
    for y in (0, top / 2, top):
        _, height = place(xs[0], y)
        out.append(f'<text x="{x0 - 4:.0f}" y="{height + 4:.0f}" text-anchor="end">{y:.0f}</text>')
    return out


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        growth = json.load(file)
    batch = [(p["batch"], p["ms"]) for p in growth["batch"]]
    context = [(p["context"], p["ms"]) for p in growth["context"]]
    name = f"{growth['model']}, {growth['isa']}, {growth['threads']} threads: ms a step against"
    parts = panel(batch, 0, f"{name} streams", False) + panel(context, WIDTH, "against context (logarithmic)", True)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * WIDTH}" height="{HEIGHT}" '
            'font-family="sans-serif" font-size="11">\n' + "\n".join(parts) + "\n</svg>\n"
        )


if __name__ == "__main__":
    main()
