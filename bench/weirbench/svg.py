"""A small writer of SVG: shapes in, a self-contained document out."""

from xml.sax.saxutils import escape, quoteattr

FONT = "Inter, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"


class Drawing:
    def __init__(self, width, height, title, background="#ffffff"):
        self.width, self.height, self.title = width, height, title
        self.parts = []
        self.rect(0, 0, width, height, fill=background)

    def rect(self, x, y, width, height, tip=None, **style):
        self._add("rect", {"x": x, "y": y, "width": max(width, 0), "height": height} | style, tip)

    def line(self, x1, y1, x2, y2, **style):
        self._add("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2} | style)

    def circle(self, x, y, radius, tip=None, **style):
        self._add("circle", {"cx": x, "cy": y, "r": radius} | style, tip)

    def text(self, x, y, words, more=None, **style):
        """`more` is (words, style) that follow in the same line."""
        inner = escape(words)
        if more:
            inner += f"<tspan{_attributes(more[1])}>{escape(more[0])}</tspan>"
        self.parts.append(f"<text{_attributes({'x': x, 'y': y} | style)}>{inner}</text>")

    def _add(self, tag, attributes, tip=None):
        inner = f"><title>{escape(tip)}</title></{tag}>" if tip else "/>"
        self.parts.append(f"<{tag}{_attributes(attributes)}{inner}")

    def document(self):
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}"'
                f' width="{self.width}" height="{self.height}" role="img"'
                f" font-family={quoteattr(FONT)}>\n<title>{escape(self.title)}</title>\n")
        return head + "\n".join(self.parts) + "\n</svg>\n"


def _attributes(attributes):
    out = ""
    for name, value in attributes.items():
        if isinstance(value, float):
            value = f"{value:.2f}".rstrip("0").rstrip(".")
        out += f" {name.replace('_', '-')}={quoteattr(str(value))}"
    return out


def text_width(words, size):
    """About as wide as these words are; good enough to keep labels apart."""
    return len(words) * size * 0.56
