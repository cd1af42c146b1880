"""The measurement of weir and its peers: one module, one concept.

workloads   what is measured and what is demanded
servers     who takes part, and how each is started
site        the files, certificate and ports they share
setup       Debian packages that are missing
process     CPU time, memory and cores as the kernel accounts them
clients     h2load, wrk and resume: command lines, and what their output says
resume      a client that resumes TLS 1.3 sessions, run as a program of its own
probe       one correct answer per server and workload before any number
tap         bytes on the wire
measure     warm-up and interleaved rounds
stats       medians, spreads, ratios, verdicts
report      the printed table and report.md
plots, svg  bar charts
profile, flame  flame graphs
environment what the figures were measured on
progress    what runs and how long it will take
cli         options, and the order of things
"""
