"""Flame graphs: what `perf script` prints, folded into stacks, drawn as SVG."""

import re
import zlib

from .svg import Drawing

WIDTH = 1400
ROW = 17
TOP = 70
SIDE = 12
MIN_PX = 0.4  # frames narrower than this are left out
INK, SOFT = "#1d2733", "#5b6775"

NAMELESS = "[unknown]"
FRAME = re.compile(r"^\s+[0-9a-f]+ (.+?)(?:\+0x[0-9a-f]+)? \((.*)\)$")


def samples(script):
    """(program, [(symbol, binary), ...]), innermost first, of `perf script -F comm,ip,sym,dso`."""
    comm, frames = None, []
    for line in script.splitlines() + [""]:
        if not line.strip():
            if comm is not None:
                yield comm, frames
            comm, frames = None, []
            continue
        found = FRAME.match(line)
        if found:
            frames.append(found.groups())
        elif comm is None:
            comm = line.strip()


def fold(script):
    """{(outermost, ..., innermost): samples} from the same text."""
    stacks = {}
    for comm, frames in samples(script):
        stack = (comm, *(_name(*frame) for frame in reversed(frames)))
        stacks[stack] = stacks.get(stack, 0) + 1
    return stacks


def is_kernel(binary):
    return binary.startswith("[kernel")


def _name(symbol, binary):
    if symbol == NAMELESS:
        return f"[{binary.rpartition('/')[2]}]"
    return symbol + ("_[k]" if is_kernel(binary) else "")


def folded_text(stacks):
    """The format other tools read: a;b;c 12."""
    return "".join(f"{';'.join(stack)} {count}\n" for stack, count in sorted(stacks.items()))


def tree(stacks):
    """Nested {name: [samples, children]}."""
    root = {}
    for stack, count in stacks.items():
        level = root
        for name in stack:
            node = level.setdefault(name, [0, {}])
            node[0] += count
            level = node[1]
    return root


def _depth(level):
    return 1 + max(map(_depth, (node[1] for node in level.values())), default=0) if level else 0


def draw(stacks, title, note):
    total = sum(stacks.values())
    root = tree(stacks)
    height = TOP + ROW * _depth(root) + SIDE
    d = Drawing(WIDTH, height, title)
    d.text(SIDE, 30, title, font_size=18, font_weight=600, fill=INK)
    d.text(SIDE, 50, f"{total:,} samples · {note}", font_size=12, fill=SOFT)
    if total:
        _draw_level(d, root, SIDE, height - SIDE - ROW, (WIDTH - 2 * SIDE) / total, total)
    return d.document()


def _draw_level(d, level, x, y, scale, total):
    for name, (count, children) in sorted(level.items()):
        width = count * scale
        if width >= MIN_PX:
            d.rect(x, y, width - 0.3, ROW - 1, fill=_colour(name), rx=1,
                   tip=f"{name.removesuffix('_[k]')}: {count:,} samples, {count / total:.1%}")
            fits = int((width - 6) / 6.3)
            if fits >= 3:
                shown = name.removesuffix("_[k]")
                shown = shown if len(shown) <= fits else shown[:fits - 1] + "…"
                d.text(x + 3, y + 12, shown, font_size=11, fill=INK, pointer_events="none")
            _draw_level(d, children, x, y - ROW, scale, total)
        x += width


def _colour(name):
    """Kernel in blues, user space in warm colours; the same name always looks the same."""
    shade = zlib.crc32(name.encode()) % 40
    if name.endswith("_[k]"):
        return f"hsl({200 + shade // 2}, 55%, {70 + shade // 4}%)"
    return f"hsl({20 + shade // 2}, 80%, {66 + shade // 4}%)"
