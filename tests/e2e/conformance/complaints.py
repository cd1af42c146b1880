"""What users of other servers complain about, and the rows that it cannot happen to without failing.

What needs time or a change meanwhile is no row: maps that shrink (test_shrinking_files), files that
are replaced, edited and switched by links (test_changes, test_working_set), permissions
(test_permissions), disks (test_slow_disk, test_content_tags).
"""

COMPLAINTS = {
    "br and zstd need a module that is not there": [
        ("main", "br"), ("main", "zstd"), ("main", "gzip"),
        ("main", "of what a browser lists the smallest")],
    "compressed files are served only beside the plain one": [
        ("main", "only br: sent as it is"), ("main", "only zst: sent as it is"),
        ("main", "only gz: decoded"), ("main", "only br: decoded"), ("main", "only zst: decoded"),
        ("main", "megabytes are decoded"), ("main", "only compressed: the index")],
    "redirects tell a proxy's client of the port and scheme behind it": [
        ("main", "a directory without the slash"), ("main", "deeper: the last segment"),
        ("main", "//host is none"), ("main", "the query is kept"),
        ("lists", "a list without the slash")],
    "a missing script of a build is answered with a page that caches keep": [
        ("pages", "a script that is gone"), ("pages", "a style sheet that is gone"),
        ("pages", "who wants an image"), ("pages", "HEAD of a script that is gone"),
        ("main", "a missing digest is not kept"),
        ("main", "the rule follows the file that is served")],
    "files of reproducible builds, all of one time, give wrong 304": [
        ("main", "same size, other content: another tag"), ("main", "time 0: no date"),
        ("main", "1980-01-01: no date"), ("main", "the tag of a build before gives the new bytes"),
        ("main", "the last byte of a large file counts"),
        ("main", "a sibling of a build has a tag of its own")],
    "vary and etag are missing from 206 and 304, and compressed bodies get no 304": [
        ("main", "a 304 of a coding"), ("main", "a 304 of the original"),
        ("main", "a range is one of the coded bytes"), ("main", "a range of the original"),
        ("main", "a coding has a tag of its own"), ("main", "decoded: a 304"),
        ("main", "HEAD"), ("main", "and fails for another")],
    "types of mjs, wasm and webmanifest are wrong, and adding one loses the table": [
        ("main", "type of .mjs"), ("main", "type of .wasm"), ("main", "type of .webmanifest"),
        ("rules", "a type of the operator's"), ("rules", "the table stays for all else")],
    "the field server cannot be removed": [
        ("rules", "no field server"), ("rules", "nor in a 304"), ("rules", "nor in a failure"),
        ("rules", "nor in a redirect"), ("rules", "nor for OPTIONS"),
        ("bare", "a name of the operator's"), ("main", "the server is named without a version")],
    "dotfiles are served": [
        ("main", "a dotfile"), ("main", "in a dot directory"), ("main", "a dotfile, encoded"),
        ("lists", "a hidden file in a listed directory"), ("pages", "below a dot directory")],
}
