"""perf's text becomes stacks, and stacks become a picture."""

import unittest
import xml.etree.ElementTree as xml

import context  # noqa: F401 (sets the path)
from weirbench import flame, split

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


HANDSHAKE = """\
weir
\tffffffff815a2841 tcp_sendmsg+0xc1 ([kernel.kallsyms])
\t           312b4 main+0xb4 (/usr/bin/weir)

weir
\t           180f4 [unknown] (/usr/lib/libcrypto.so.3)
\t           17f59 [unknown] (/usr/lib/libcrypto.so.3)
\t           1844a [unknown] (/usr/lib/libcrypto.so.3)
\t           4df90 [unknown] (/usr/lib/libssl.so.3)
\t           312b4 main+0xb4 (/usr/bin/weir)

weir
\t           180f4 [unknown] (/usr/lib/libcrypto.so.3)
\t           215fa EVP_PKEY_generate+0x10 (/usr/lib/libcrypto.so.3)
\t           29be0 [unknown] (/usr/lib/libssl.so.3)

weir
\t           a2330 malloc+0x10 (/usr/lib/x86_64-linux-gnu/libc.so.6)
\t           20ccd EVP_MD_fetch+0x10 (/usr/lib/libcrypto.so.3)
\t           29be0 [unknown] (/usr/lib/libssl.so.3)

weir
\t           a2330 memcpy+0x10 (/usr/lib/x86_64-linux-gnu/libc.so.6)
\t           312b4 main+0xb4 (/usr/bin/weir)
"""


class Split(unittest.TestCase):
    def test_each_sample_is_of_one_part(self):
        self.assertEqual(split.split(HANDSHAKE), {
            split.KERNEL: 0.2, split.PUBLIC_KEY: 0.4, split.CRYPTO: 0.2, split.SSL: 0.0,
            split.SERVER: 0.2})

    def test_the_table_has_a_line_for_each_server(self):
        lines = split.text({"weir": split.split(HANDSHAKE)}).splitlines()
        self.assertEqual(lines[1].split(), ["weir", "20.0%", "40.0%", "20.0%", "0.0%", "20.0%"])

    def test_nothing_has_no_parts(self):
        self.assertEqual(split.split(""), {})


if __name__ == "__main__":
    unittest.main()
