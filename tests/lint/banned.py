"""Calls that we do not make, and suppressed warnings that give no reason."""
import re

import sources

# function: why not, or what instead
BANNED = {
    "gets": "no bound: fgets",
    "strtok": "hidden state: memchr",
    "system": "a shell with our rights",
    "popen": "a shell with our rights",
    "tmpnam": "a race: mkstemp",
    "mktemp": "a race: mkstemp",
    "rand": "neither random nor repeatable: getrandom, or the generator of the unit tests",
    "gmtime": "hidden state: gmtime_r",
    "localtime": "hidden state: localtime_r",
    "ctime": "hidden state: strftime",
    "inet_ntoa": "hidden state: inet_ntop",
    "select": "descriptors above 1023 overrun its sets: poll",
}
# the same, but not for tests, whose strings are their own and which AddressSanitizer watches
BANNED_IN_PRODUCT = {
    "strcpy": "no bound: memcpy of a known length",
    "stpcpy": "no bound: memcpy of a known length",
    "strcat": "no bound: snprintf",
    "strncpy": "may leave out the NUL: snprintf",
    "strncat": "its bound is not the buffer's: snprintf",
    "sprintf": "no bound: snprintf",
    "vsprintf": "no bound: vsnprintf",
    "atoi": "cannot report an error: strtoul and a look at the end",
    "atol": "cannot report an error: strtoul and a look at the end",
    "atof": "cannot report an error: strtod and a look at the end",
    "alloca": "unbounded stack",
    "assert": "gone in release builds: WEIR_ASSERT",
    "sleep": "a worker never sleeps: a timer",
    "usleep": "a worker never sleeps: a timer",
    "nanosleep": "a worker never sleeps: a timer",
}

CALL = re.compile(r"(?<![\w.>])(\w+)\s*\(")
SUPPRESSION = re.compile(r"NOLINT\w*|cppcheck-suppress(?!ed)\S*")
# NOLINT(check): reason        cppcheck-suppress check ; reason
REASONED = re.compile(r"NOLINT\w*\([\w.,\- ]+\):? +\w.*|cppcheck-suppress\S* +\w+ *; *\w.*")


def calls(path, text, complaints):
    banned = dict(BANNED)
    if path.parts[0] not in ("tests", "bench"):
        banned.update(BANNED_IN_PRODUCT)
    code = sources.blanked(text)
    for match in CALL.finditer(code):
        reason = banned.get(match.group(1))
        if reason:
            line = sources.line_of(code, match.start())
            complaints.append(f"{path}:{line}: {match.group(1)}(): {reason}")


def suppressions(path, text, complaints):
    for number, line in enumerate(text.splitlines(), 1):
        match = SUPPRESSION.search(line)
        if match and "NOLINTEND" not in match.group() and not REASONED.match(line, match.start()):
            complaints.append(f"{path}:{number}: {match.group()} names no check, or no reason")


def main():
    complaints = []
    files = sources.c_files()
    for path in files:
        text = sources.read(path)
        calls(path, text, complaints)
        suppressions(path, text, complaints)
    sources.finish(complaints, len(files))


main()
