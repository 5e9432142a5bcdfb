"""Pictures as SVG: bars by group, and lines over a logarithmic axis."""
import html
import math

COLOURS = ("#1f5fa8", "#e08a1e", "#6a9f58", "#b0413e", "#8a6bb1", "#7a7a7a")
TEXT = 'font-family="Helvetica, Arial, sans-serif" font-size="11" fill="#333"'
GRID = 'stroke="#d8d8d8" stroke-width="1"'


def text(x, y, what, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {TEXT}>{html.escape(str(what))}</text>'


def line(x1, y1, x2, y2, style=GRID):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'


def svg(width, height, parts):
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}">')
    return "\n".join([head, f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>', *parts, "</svg>"]) + "\n"


def legend(names, x, y):
    parts = []
    for i, name in enumerate(names):
        parts.append(f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="10" height="10" fill="{COLOURS[i % len(COLOURS)]}"/>')
        parts.append(text(x + 14, y, name))
        x += 34 + 6.2 * len(name)
    return parts


def steps(most):
    """Round numbers from 0 to `most`, about six of them."""
    rough = most / 6
    unit = 10 ** math.floor(math.log10(rough))
    step = min((k * unit for k in (1, 2, 5, 10)), key=lambda s: abs(s - rough))
    return [i * step for i in range(int(most / step) + 1)]


def bars(title, groups, names, values, most=None):
    """Horizontal bars: values[group][name], which may be missing, under the name of each group."""
    left, right, top, thick, gap = 290, 30, 58, 9, 9
    shown = [[(i, values[g][n]) for i, n in enumerate(names) if values[g].get(n) is not None] for g in groups]
    most = most or max((v for row in shown for _, v in row), default=1) * 1.05
    width, height = 900, top + sum(len(row) * thick + gap for row in shown) + 20
    scale = (width - left - right) / most
    parts = [text(10, 20, title), *legend(names, 10, 40)]
    for value in steps(most):
        x = left + value * scale
        parts += [line(x, top - 4, x, height - 18), text(x, height - 5, f"{value:g}", "middle")]
    y = top
    for group, row in zip(groups, shown):
        parts.append(text(left - 8, y + len(row) * thick / 2 + 4, group, "end"))
        for i, value in row:
            length = min(value, most) * scale
            parts.append(f'<rect x="{left}" y="{y:.1f}" width="{length:.1f}" height="{thick - 1}" '
                         f'fill="{COLOURS[i % len(COLOURS)]}"><title>{html.escape(names[i])}: {value:.3g}</title></rect>')
            y += thick
        y += gap
    return svg(width, height, parts)


def lines(title, series, most, marks=(), x_title="", y_title=""):
    """Lines of (x, y) over a logarithmic x: {name: (points, colour number, dashed)}; what is dashed the title explains.
    marks are dotted heights: (from x, to x, height)."""
    left, right, top, bottom, width, height = 55, 20, 62, 45, 900, 430
    all_x = [x for points, _, _ in series.values() for x, _ in points] or [1, 2]
    low, high = math.log2(min(all_x)), max(math.log2(max(all_x)), math.log2(min(all_x)) + 1)

    def place(x, y):
        return (left + (math.log2(x) - low) / (high - low) * (width - left - right),
                height - bottom - min(y, most) / most * (height - top - bottom))
    parts = [text(10, 20, title)]
    for value in steps(most):
        _, y = place(2 ** low, value)
        parts += [line(left, y, width - right, y), text(left - 6, y + 4, f"{value:g}", "end")]
    for k in range(math.ceil(low), math.floor(high) + 1):
        x, _ = place(2 ** k, 0)
        parts.append(text(x, height - bottom + 16, f"{2 ** k}", "middle"))
    for from_x, to_x, value in marks:
        if to_x > min(all_x) and from_x < max(all_x):
            (x1, y), (x2, _) = place(max(from_x, min(all_x)), value), place(min(to_x, max(all_x)), value)
            parts.append(line(x1, y, x2, y, 'stroke="#333" stroke-width="1" stroke-dasharray="2 3"'))
    x = 10
    for name, (points, colour, dashed) in series.items():
        style = f'stroke="{COLOURS[colour % len(COLOURS)]}" stroke-width="1.8"' + (' stroke-dasharray="6 3"' if dashed else "")
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in (place(*p) for p in sorted(points)))
        parts.append(f'<polyline points="{path}" fill="none" {style}/>')
        if not dashed:
            parts += [line(x, 40, x + 22, 40, style), text(x + 26, 44, name)]
            parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.2" fill="{COLOURS[colour % len(COLOURS)]}"/>'
                      for a, b in (place(*p) for p in points)]
            x += 46 + 6.2 * len(name)
    parts += [text((left + width - right) / 2, height - 8, x_title, "middle"), text(10, 57, y_title)]
    return svg(width, height, parts)
