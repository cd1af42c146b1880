"""Two hosts on one machine: network namespaces with a cable (veth) between them."""

import os
import subprocess

SERVER_ADDRESS, CLIENT_ADDRESS = "10.213.0.1", "10.213.0.2"


class Unavailable(Exception):
    """This machine, or this user, may not have them."""


def _ip(*arguments):
    try:
        done = subprocess.run(["ip", *arguments], capture_output=True, text=True, timeout=60)
    except FileNotFoundError as error:
        raise Unavailable("there is no ip(8)") from error
    if done.returncode != 0:
        raise Unavailable(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


class Cable:
    """`server` and `client` are the commands to begin a command line with."""

    def __init__(self):
        self._names = [f"weir-{os.getpid()}-{end}" for end in ("server", "client")]
        self.server, self.client = (("ip", "netns", "exec", name) for name in self._names)
        try:
            for name in self._names:
                _ip("netns", "add", name)
            _ip("link", "add", "weir0", "netns", self._names[0], "type", "veth",
                "peer", "name", "weir1", "netns", self._names[1])
            for name, link, address in zip(self._names, ("weir0", "weir1"),
                                           (SERVER_ADDRESS, CLIENT_ADDRESS)):
                _ip("-n", name, "address", "add", f"{address}/24", "dev", link)
                _ip("-n", name, "link", "set", link, "up")
                _ip("-n", name, "link", "set", "lo", "up")
        except Unavailable:
            self.close()
            raise

    def close(self):
        for name in self._names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
