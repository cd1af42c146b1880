"""The measurement of weir and its peers: one module, one concept.

workloads   what is measured and what is demanded
servers     who takes part, and how each is started
site        the files, certificate and ports they share
setup       Debian packages and builds that are missing
process     CPU time, memory and cores as the kernel accounts them
clients     h2load, wrk and weir-load: command lines, and what their output says
probe       one correct answer per server and workload before any number
tap         bytes on the wire
syscalls    system calls per request
renewals    connections that a server closed, where h2load does not say so
measure     warm-up and interleaved rounds, then latencies and system calls
openloop    constant rates;  openreport: their table and plot
idle        memory of connections that do nothing
instructions  instructions per request under valgrind, and their budget
stats       medians, percentiles, spreads, ratios, verdicts
demands     met or missed, for each demand
report      the printed tables and report.md;  method: its words on how;  details: details.md
sweep       matrix and picture of weir's share over connections and streams
plots, svg  bar charts
profile, flame  flame graphs;  split: whose work the time of TLS is
environment what the figures were measured on
progress    what runs and how long it will take
cli         options, and the order of things
"""
