"""Where the time of a workload goes: the samples of a profile, by whose work they are.

Made for connections over TLS, where the parts are the kernel, the public-key operations of the
handshake, the rest of libcrypto, libssl's state machine, and the server itself. What is spent in the
C library counts for who called it.
"""

from . import flame

PARTS = KERNEL, PUBLIC_KEY, CRYPTO, SSL, SERVER = (
    "kernel", "public keys", "libcrypto, other", "libssl", "server")

# What makes a key, agrees on one, or signs; and what that is made of.
OPERATIONS = {"EVP_PKEY_generate", "EVP_PKEY_keygen", "EVP_PKEY_derive", "EVP_PKEY_sign",
              "EVP_DigestSign"}
ARITHMETIC = ("BN_", "EC_", "ECDSA_")
# EVP_PKEY_derive() and EVP_DigestSign() end in a jump and leave no frame. Debian's libcrypto has no
# name for what they jump to; nothing else goes as deep below libssl without one.
NAMELESS_DEPTH = 3
C_LIBRARY = ("libc.so", "libc-", "libpthread", "ld-linux", "[vdso]")


def part_of(frames):
    """Of whose work a sample is; frames are (symbol, binary), innermost first."""
    if flame.is_kernel(frames[0][1]):
        return KERNEL
    if _is_nameless_operation(frames) or any(
            symbol in OPERATIONS or symbol.startswith(ARITHMETIC) for symbol, _ in frames):
        return PUBLIC_KEY
    for _, binary in frames:
        name = binary.rpartition("/")[2]
        if name.startswith("libcrypto"):
            return CRYPTO
        if name.startswith("libssl"):
            return SSL
        if not name.startswith(C_LIBRARY):
            return SERVER
    return SERVER


def _is_nameless_operation(frames):
    for depth, (symbol, binary) in enumerate(frames):
        if "libssl" in binary:
            return depth >= NAMELESS_DEPTH
        if "libcrypto" not in binary or symbol != flame.NAMELESS:
            break
    return False


def split(script):
    """{part: share} of what `perf script -F comm,ip,sym,dso` prints; {} if that is nothing."""
    counts = dict.fromkeys(PARTS, 0)
    for _, frames in flame.samples(script):
        if frames:
            counts[part_of(frames)] += 1
    total = sum(counts.values())
    return {part: count / total for part, count in counts.items()} if total else {}


def text(splits):
    """A table: {server: split}, one line for each."""
    lines = [f"{'where it goes':14}" + "".join(f"{part:>18}" for part in PARTS)]
    for server, shares in splits.items():
        lines.append(f"{server:14}" + "".join(f"{shares[part]:>18.1%}" for part in PARTS))
    return "\n".join(lines)
