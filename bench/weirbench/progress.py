"""What runs and how long it will take: one line that renews itself on a terminal, else plain lines."""

import sys
import time


class Progress:
    def __init__(self, total_s, out=sys.stderr):
        self.total_s = total_s  # planned seconds of all work
        self.done_s = 0.0  # planned seconds of what is done
        self.out = out
        self.live = out.isatty()
        self.start = time.monotonic()

    def left_s(self):
        """The plan for the rest, corrected by how the plan has fared so far."""
        rest = max(self.total_s - self.done_s, 0.0)
        if self.done_s <= 0:
            return rest
        return rest * (time.monotonic() - self.start) / self.done_s

    def now(self, what):
        if self.live:
            self.out.write(f"\r\033[K{what}   [{clock(self.left_s())} left]")
            self.out.flush()

    def line(self, text):
        if self.live:
            self.out.write("\r\033[K")
        self.out.write(text + "\n")
        self.out.flush()

    def heading(self, text):
        self.line(f"{text}   [{clock(self.left_s())} left]")

    def worked(self, planned_s):
        self.done_s += planned_s

    def elapsed_s(self):
        return time.monotonic() - self.start


def clock(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes}:{seconds:02d}"
