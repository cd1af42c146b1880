"""The sweep over connections and streams: a matrix of weir's share of the best peer's CPU, and its picture."""

import math

from .svg import Drawing
from .workloads import CONNECTIONS, PROTOCOLS, SMALL, STREAMS, is_default

INK, SOFT, FAINT = "#1d2733", "#5b6775", "#98a2ae"
WORDS = {"6b": "6 B", "1k": "1 KiB", "10k": "10 KiB"}
CELL_W, CELL_H, GAP, LEFT, TOP, BLOCK = 62, 30, 26, 150, 112, 54
COLD, WARM = (10, 125, 140), (185, 60, 28)  # weir costs less, weir costs more


def rows(results, protocol):
    """A line for each number of connections, a column for each body and number of streams."""
    cells = _findings(results, protocol)
    columns = [(b, m) for b in SMALL for m in STREAMS if any((b, c, m) in cells for c in CONNECTIONS)]
    lines = [[f"c{c}"] + [_words(cells.get((b, c, m))) for b, m in columns]
             for c in CONNECTIONS if any((b, c, m) in cells for b, m in columns)]
    return [["connections"] + [f"{WORDS[b]}, m{m}" for b, m in columns]] + lines


def _findings(results, protocol):
    """{(body, connections, streams): finding}, empty where no more than the usual was measured."""
    swept = [w for w in results.measured() if w.is_swept and w.protocol == protocol]
    if all(map(is_default, swept)):
        return {}
    return {(w.body, w.connections, w.streams): results.main_finding(w) for w in swept}


def _words(finding):
    if finding is None:
        return ""
    return f"{finding.ratio.value:.2f} {finding.against}" if finding.ratio else "-"


def plots(results):
    swept = {p: cells for p in PROTOCOLS if (cells := _findings(results, p))}
    return {"sweep.svg": _picture(swept)} if swept else {}


def _picture(swept):
    """A block for each protocol, in it a field of colours for each body."""
    bodies = [b for b in SMALL if any(key[0] == b for cells in swept.values() for key in cells)]
    field_w = CELL_W * len(STREAMS)
    block_h = CELL_H * len(CONNECTIONS) + BLOCK
    d = Drawing(max(LEFT + len(bodies) * (field_w + GAP) + 10, 920), TOP + len(swept) * block_h + 20,
                "weir's CPU per request as a share of the best peer's")
    d.text(32, 38, d.title, font_size=20, font_weight=600, fill=INK)
    d.text(32, 60, "across: in flight on each connection · down: connections · blue: weir costs less"
           " · red: more · white: as much · below: the best peer", font_size=12, fill=SOFT)
    for i, body in enumerate(bodies):
        x = LEFT + i * (field_w + GAP)
        d.text(x + field_w / 2, TOP - 24, WORDS[body], font_size=15, font_weight=600, fill=INK,
               text_anchor="middle")
    for i, (protocol, cells) in enumerate(swept.items()):
        _block(d, protocol, bodies, cells, TOP + i * block_h)
    return d.document()


def _block(d, protocol, bodies, cells, top):
    d.text(32, top + CELL_H * len(CONNECTIONS) / 2 + 5, protocol, font_size=15, font_weight=600, fill=INK)
    for j, connections in enumerate(CONNECTIONS):
        d.text(LEFT - 10, top + CELL_H * (j + 0.5) + 4, f"c{connections}", font_size=12, fill=SOFT,
               text_anchor="end")
    for i, body in enumerate(bodies):
        left = LEFT + i * (CELL_W * len(STREAMS) + GAP)
        for k, streams in enumerate(STREAMS):
            x = left + k * CELL_W
            d.text(x + CELL_W / 2, top - 6, f"m{streams}", font_size=11, fill=SOFT, text_anchor="middle")
            for j, connections in enumerate(CONNECTIONS):
                _cell(d, cells.get((body, connections, streams)), x, top + j * CELL_H)


def _cell(d, finding, x, y):
    if finding is None or finding.ratio is None:
        d.rect(x, y, CELL_W - 2, CELL_H - 2, fill="#f1f3f5", rx=3)
        return
    found = finding.ratio
    tip = f"{finding.workload}: {found.value:.2f} [{found.low:.2f}, {found.high:.2f}] of {finding.against}"
    d.rect(x, y, CELL_W - 2, CELL_H - 2, fill=_colour(found.value), rx=3, tip=tip)
    middle = {"text_anchor": "middle", "fill": INK, "pointer_events": "none"}
    d.text(x + CELL_W / 2 - 1, y + 13, f"{found.value:.2f}", font_size=12, font_weight=600, **middle)
    d.text(x + CELL_W / 2 - 1, y + 24, finding.against, font_size=9, **middle)


def _colour(ratio):
    """White at 1, full at a quarter and at four times as much."""
    strength = min(abs(math.log(ratio)) / math.log(4), 1.0) * 0.75
    end = COLD if ratio < 1 else WARM
    return "#" + "".join(f"{round(255 + (e - 255) * strength):02x}" for e in end)
