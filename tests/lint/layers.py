"""Every #include goes the way of the arrows: which folder may see which, and who may see a library.

The include paths of the targets forbid most of this already; here it is said once for all folders,
with the libraries, and with the rule that keeps those include paths unambiguous: no two headers of
different folders share a name.
"""
import collections
import re

import sources

# module: the folders of ours that it may include from, besides its own and include/
MODULES = {
    "server/core": (),
    "server/io": ("server/core",),
    "h2": ("server/core",),
    "tls": ("server/core",),
    "server/http": ("server/core",),
    "server/http/http1": ("server/core", "server/http"),
    "server/http/files": ("server/core", "server/http"),
    "server": ("server/core", "server/io", "h2", "tls", "server/http", "server/http/http1",
               "server/http/files"),
    "server/ops": ("server/core", "server/io", "h2", "tls", "server/http", "server/http/http1",
                   "server/http/files", "server"),
    "server/main.c": ("server/ops",),
}

# what a library's headers begin with: the folder that may include them, with those below it
LIBRARIES = {
    "nghttp2/": "h2",
    "openssl/": "tls",
    "intel-ipsec-mb.h": "tls",
    "llhttp.h": "server/http/http1",
    "brotli/": "server/http/files",
    "zlib.h": "server/http/files",
    "zstd.h": "server/http/files",
    "zstd_errors.h": "server/http/files",
    "liburing.h": "server/io",
    "sys/epoll.h": "server/io",
}

SYSTEM = re.compile(
    r"(sys|linux|arpa|netinet|net|sanitizer)/\w+\.h"
    r"|(assert|cpuid|ctype|dirent|dlfcn|endian|errno|fcntl|float|getopt|immintrin|inttypes|limits"
    r"|locale|math|netdb|poll|pthread|pwd|sched|semaphore|setjmp|signal|stdalign|stdarg|stdatomic|stdbool"
    r"|stddef|stdint|stdio|stdlib|stdnoreturn|string|strings|syslog|threads|time|ucontext|unistd"
    r"|x86intrin)\.h")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def library_complaint(folder, name):
    for prefix, owner in LIBRARIES.items():
        if name.startswith(prefix):
            inside = folder == owner or folder.startswith(owner + "/")
            return None if inside else f"<{name}> belongs to {owner}/"
    if SYSTEM.fullmatch(name):
        return None
    return f"<{name}> is neither a system header nor a library known to tests/lint/layers.py"


def module_of(path):
    return str(path) if str(path) in MODULES else str(path.parent)


def own_complaint(path, name, headers):
    folder = str(path.parent)
    if (sources.ROOT / "include" / name).exists():
        if folder == "include/weir" and not name.startswith("weir/"):
            return f'"{name}" is not installed, but what includes it is'
        return None
    owners = headers[name]
    allowed = MODULES.get(module_of(path), ())
    if module_of(path) == folder:
        allowed += (folder,)
    if any(owner in allowed for owner in owners):
        return None
    where = " or ".join(f"{owner}/" for owner in owners) or "nowhere"
    return f'"{name}" is in {where}, which {module_of(path)} may not include from'


def main():
    complaints = []
    headers = collections.defaultdict(list)
    for path in sources.c_files("server", "h2", "tls", suffixes=(".h",)):
        headers[path.name].append(str(path.parent))
    for name, folders in headers.items():
        if len(folders) > 1:
            complaints.append(f"{name}: there is one in each of {', '.join(folders)}")

    files = sources.c_files("include", "server", "h2", "tls")
    for path in files:
        folder = str(path.parent)
        if not folder.startswith("include/") and folder not in MODULES:
            complaints.append(f"{path}: {folder}/ is not a module of tests/lint/layers.py")
            continue
        text = sources.read(path)
        for match in INCLUDE.finditer(text):
            quote, name = match.groups()
            if quote == "<":
                complaint = library_complaint(folder, name)
            else:
                complaint = own_complaint(path, name, headers)
            if complaint:
                complaints.append(f"{path}:{sources.line_of(text, match.start())}: {complaint}")
    sources.finish(complaints, len(files))


main()
