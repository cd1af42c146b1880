"""The files that the tests have served: made of seeds, so that any byte can be checked."""

import functools
import os
import pathlib
import random

MIB = 1024 * 1024
BIG_LEN = 100 * MIB


@functools.lru_cache(maxsize=16)
def content(length, seed=0):
    """`length` bytes that only this seed gives, and no part of which repeats."""
    return random.Random(f"{seed}/{length}").randbytes(length)


class Tree:
    """A directory that knows what it holds."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.root.mkdir(parents=True, exist_ok=True)
        self.files = {}

    def add(self, name, body):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        self.files[name] = body
        return body

    def add_link(self, name, target):
        """A hard link to a large file that several trees share."""
        os.link(target, self.root / name)

    def replace(self, name, body):
        """Swap the file under the name in one step, as an editor or a deployment does."""
        fresh = self.root / f".{name}.new"
        fresh.write_bytes(body)
        fresh.rename(self.root / name)
        self.files[name] = body

    def bring_into_memory(self):
        """All that lies there, also what has been driven out since."""
        for path in filter(pathlib.Path.is_file, self.root.rglob("*")):
            with path.open("rb") as file:
                while file.read(MIB):
                    pass

    def remove(self, name):
        (self.root / name).unlink()
        del self.files[name]


def standard(root, big=None):
    """The tree that most tests use."""
    tree = Tree(root)
    tree.add("index.html", b"<!doctype html><title>weir</title><p>Welcome.</p>\n")
    tree.add("empty.txt", b"")
    tree.add("one.bin", b"x")
    tree.add("small.txt", content(1024))
    tree.add("style.css", b"body { color: teal }\n")
    tree.add("page.bin", content(4096))
    tree.add("medium.bin", content(100 * 1024))
    tree.add("large.bin", content(5 * MIB + 1))
    tree.add("sub/index.html", b"<!doctype html><title>sub</title>\n")
    tree.add("sub/deep/file.txt", b"deep\n")
    tree.add("with space & ümlaut.txt", b"named\n")
    if big is not None:
        tree.add_link("big.bin", big)
    return tree
