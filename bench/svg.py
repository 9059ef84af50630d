"""Pictures as SVG, without a library: bars on a logarithmic scale, and lines."""

import html
import math

WIDTH, LEFT, RIGHT, ROW = 760, 230, 110, 26
OURS, OTHERS, GRID, TEXT = "#2563eb", "#9ca3af", "#d1d5db", "#111827"
COLOURS = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#6b7280")


def _text(x, y, words, anchor="start", size=12, weight="normal"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'font-weight="{weight}" fill="{TEXT}">{html.escape(words)}</text>'
    )


def _picture(height, parts):
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    )
    return "\n".join([head, *parts, "</svg>\n"])


def bars(title, unit, rows):
    """`rows`: (name, value, whether it is ours). The scale is logarithmic."""
    rows = [row for row in rows if row[1] and row[1] > 0]
    low = 10 ** math.floor(math.log10(min(value for _, value, _ in rows)))
    high = max(value for _, value, _ in rows)
    span = WIDTH - LEFT - RIGHT
    place = lambda value: span * math.log10(value / low) / max(0.1, math.log10(high / low))
    parts = [_text(16, 26, title, size=15, weight="bold")]
    bottom = 44 + ROW * len(rows)
    tick = low
    while tick <= high:
        x = LEFT + place(tick)
        parts.append(f'<line x1="{x:.1f}" y1="40" x2="{x:.1f}" y2="{bottom}" stroke="{GRID}"/>')
        parts.append(_text(x, bottom + 16, f"{tick:g}", "middle", 11))
        tick *= 10
    for number, (name, value, ours) in enumerate(rows):
        y = 44 + ROW * number
        colour = OURS if ours else OTHERS
        width = max(2.0, place(value))
        parts.append(
            f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{ROW - 8}" fill="{colour}"/>'
        )
        weight = "bold" if ours else "normal"
        parts.append(_text(LEFT - 8, y + 14, name, "end", weight=weight))
        parts.append(_text(LEFT + width + 6, y + 14, f"{value:.3g} {unit}", weight=weight))
    parts.append(_text(LEFT + span / 2, bottom + 34, f"{unit}, logarithmic", "middle", 11))
    return _picture(bottom + 46, parts)


def lines(title, across, up, series, logarithmic=False):
    """`series`: {name: [(x, y)]}. `logarithmic`: the x axis."""
    height, top, bottom, left, right = 340, 44, 290, 70, WIDTH - 170
    points = [point for each in series.values() for point in each]
    scale = math.log10 if logarithmic else float
    low_x, high_x = (scale(pick(x for x, _ in points)) for pick in (min, max))
    high_y = max(y for _, y in points) or 1
    at_x = lambda x: left + (right - left) * (scale(x) - low_x) / max(1e-9, high_x - low_x)
    at_y = lambda y: bottom - (bottom - top) * y / high_y
    parts = [_text(16, 26, title, size=15, weight="bold")]
    for step in range(5):
        y = high_y * step / 4
        parts.append(
            f'<line x1="{left}" y1="{at_y(y):.1f}" x2="{right}" y2="{at_y(y):.1f}" '
            f'stroke="{GRID}"/>'
        )
        parts.append(_text(left - 8, at_y(y) + 4, f"{y:g}", "end", 11))
    ticks = (
        [10**e for e in range(math.ceil(low_x), math.floor(high_x) + 1)]
        if logarithmic
        else [low_x + (high_x - low_x) * step / 4 for step in range(5)]
    )
    for x in ticks:
        parts.append(_text(at_x(x), bottom + 16, f"{x:.4g}", "middle", 11))
    for number, (name, each) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in each)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y = top + 12 + 20 * number
        parts.append(f'<rect x="{right + 16}" y="{y - 9}" width="12" height="12" fill="{colour}"/>')
        parts.append(_text(right + 34, y + 2, name))
    parts.append(_text((left + right) / 2, bottom + 36, across, "middle", 11))
    parts.append(_text(16, top - 4, up, size=11))
    return _picture(height, parts)
