#!/usr/bin/env python3
"""The sweep of rows.py as a picture: sweep_plot.py <LINES >SVG, a curve of GB/s over elements a launch for each width, ours whole, torch.compile's dashed."""
import json
import math
import sys

WIDTH, HEIGHT, LEFT, BOTTOM = 720, 400, 60, 40
COLOURS = {4: "#1b6ca8", 16: "#2a9d8f", 64: "#b8860b", 256: "#c8553d", 1024: "#6a4c93"}
points = {}
for line in sys.stdin:
    if line.startswith('{"case": "amr"'):
        d = json.loads(line)
        if d["N"] in COLOURS:
            points.setdefault(d["N"], {})[d["M"] * d["N"]] = [16 * d["M"] * d["N"] / d["us"][w] / 1e3 for w in ("ours", "compiled")]
most = math.log2(max(e for p in points.values() for e in p))
least = math.log2(min(e for p in points.values() for e in p))


def place(elements, rate):
    return f"{LEFT + (math.log2(elements) - least) / (most - least) * (WIDTH - LEFT - 10):.1f},{HEIGHT - BOTTOM - rate / 4800 * (HEIGHT - BOTTOM - 10):.1f}"


print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">')
print(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>')
for rate in range(0, 4801, 800):
    y = place(2**least, rate).split(",")[1]
    print(f'<path d="M{LEFT},{y}H{WIDTH - 10}" stroke="#ddd"/><text x="{LEFT - 6}" y="{y}" text-anchor="end">{rate}</text>')
for e in range(int(least), int(most) + 1, 4):
    x = place(2**e, 0).split(",")[0]
    print(f'<text x="{x}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">2^{e}</text>')
print(f'<text x="{WIDTH // 2}" y="{HEIGHT - 6}" text-anchor="middle">elements; GB/s read and written; dashed: torch.compile</text>')
for i, (n, p) in enumerate(sorted(points.items())):
    for which, dash in ((0, ""), (1, ' stroke-dasharray="4 3"')):
        print(f'<polyline fill="none" stroke="{COLOURS[n]}" stroke-width="1.5"{dash} points="{" ".join(place(e, r[which]) for e, r in sorted(p.items()))}"/>')
    print(f'<text x="{LEFT + 10}" y="{24 + 14 * i}" fill="{COLOURS[n]}">width {n}</text>')
print("</svg>")
