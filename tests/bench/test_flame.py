"""perf's text becomes stacks, and stacks become a picture."""

import unittest
import xml.etree.ElementTree as xml

import context  # noqa: F401 (sets the path)
from weirbench import flame

SCRIPT = """\
weir 
\tffffffff815a2841 tcp_sendmsg+0xc1 ([kernel.kallsyms])
\t           312b4 gather_write+0xb4 (/usr/bin/weir)
\t           212b4 operator new(unsigned long)+0x4 (/usr/bin/weir)

weir 
\tffffffff815a2841 tcp_sendmsg+0xc1 ([kernel.kallsyms])
\t           312b4 gather_write+0xb4 (/usr/bin/weir)
\t           212b4 operator new(unsigned long)+0x4 (/usr/bin/weir)

weir 
\t    d8ec81485355 [unknown] (/usr/lib/libc.so.6)

"""
DEEP = ("weir", "operator new(unsigned long)", "gather_write", "tcp_sendmsg_[k]")


class Flame(unittest.TestCase):
    def test_samples_of_one_stack_are_counted_together_outermost_first(self):
        self.assertEqual(flame.fold(SCRIPT), {DEEP: 2, ("weir", "[libc.so.6]"): 1})

    def test_nothing_folds_to_nothing(self):
        self.assertEqual(flame.fold(""), {})
        xml.fromstring(flame.draw({}, "empty", "no samples"))

    def test_the_picture_is_well_formed_and_has_every_frame(self):
        stacks = flame.fold(SCRIPT) | {("weir", "a<b> & \"c\""): 5}
        words = "".join(xml.fromstring(flame.draw(stacks, "title", "note")).itertext())
        for name in ("tcp_sendmsg: 2 samples, 25.0%", "a<b> & \"c\"", "weir: 8 samples, 100.0%"):
            self.assertIn(name, words)


if __name__ == "__main__":
    unittest.main()
