"""Cells become tables, and nothing that went wrong is left out of them."""

import contextlib
import io
import json
import unittest
import xml.etree.ElementTree as xml

import context  # noqa: F401 (sets the path)
from weirbench import demands, details, instructions, measure, openreport, plots, report, sweep
from weirbench.workloads import PROTOCOLS, SWEEP, Workload

SMALL = Workload("h2c-1k-c10-m32", "h2c", "1k", connections=10, streams=32)
NAMED = Workload("h2-full", "h2", "6b", connections=9, connects=9)
UNCHANGED = Workload("h2c-304-c10-m32", "h2c", "304", connections=10, streams=32)
BACK_ENDS = Workload("h2c-1k-c50-m1", "h2c", "1k", connections=50, variants=("epoll", "uring"))

FACTS = {
    "started": "2026-01-02 03:04:05 +0000", "quick": False, "rounds": 3, "most_rounds": 9, "seconds": 1.0,
    "tracer": "perf", "servers": {"weir": "weir 1", "nginx": "nginx 1", "h2o": "h2o 1"},
    "environment": {
        "cpu": "a <CPU>", "cores": 2, "hypervisor": True, "memory_mib": 1, "system": "Debian",
        "kernel": "6", "governor": None, "server_core": 0, "client_core": 1, "loopback_mtu": "1",
        "files_on": "ext4", "load_average": [0.0, 0.0, 0.0], "revision": None,
        "siblings": False, "niceness": 0,
        "clients": {"h2load": "1"}},
}


def cell(workload, server, *cpu_us):
    samples = [measure.Sample(
        round=n, requests=1000, seconds=0.01, server_cpu_s=us / 1000, client_cpu_s=0.01, client_share=0.5,
        server_share=0.99, others_share=0.0, peak_rss_kib=2048, anon_rss_kib=1024,
        data_bytes=1, frame_bytes=1, header_bytes=14000) for n, us in enumerate(cpu_us)]
    return measure.Cell(workload.name, server, samples=samples, wire_in=1056.5, wire_out=30.0)


def results(workload, *cells, more=()):
    found = report.Results(FACTS, [workload, *more],
                           ["weir", "weir:epoll", "weir:uring", "nginx", "h2o", "h2o:stock"])
    found.add(cells)
    return found


class Tables(unittest.TestCase):
    def test_the_rival_is_the_cheapest_peer_and_never_a_weir(self):
        found = results(SMALL, cell(SMALL, "weir", 1, 1, 1), cell(SMALL, "nginx", 9, 9, 9),
                        cell(SMALL, "h2o", 2, 2, 2))
        self.assertEqual(found.rival(SMALL).server, "h2o")
        self.assertEqual(found.main_finding(SMALL).ratio.value, 0.5)
        self.assertEqual(found.main_finding(SMALL).verdict, "met")

    def test_a_stock_configuration_is_shown_and_never_the_rival(self):
        found = results(SMALL, cell(SMALL, "weir", 1, 1, 1), cell(SMALL, "h2o", 4, 4, 4),
                        cell(SMALL, "h2o:stock", 2, 2, 2))
        self.assertEqual(found.rival(SMALL).server, "h2o")
        self.assertIn("0.50", report.table(found).partition("Stock configurations")[2])

    def test_more_rounds_are_wanted_of_those_between_whom_it_is_open(self):
        found = results(BACK_ENDS, cell(BACK_ENDS, "weir", 1, 1, 1), cell(BACK_ENDS, "h2o", 2, 2, 2),
                        cell(BACK_ENDS, "weir:epoll", 2, 2, 2), cell(BACK_ENDS, "weir:uring", 1, 2, 4))
        self.assertEqual(found.undecided([BACK_ENDS]),
                         {(BACK_ENDS.name, "weir:uring"), (BACK_ENDS.name, "weir:epoll")})
        found.add([cell(BACK_ENDS, "weir:uring", 1, 1, 1)])
        self.assertEqual(found.undecided([BACK_ENDS]), set())

    def test_where_workloads_are_compared_both_are_wanted(self):
        found = results(UNCHANGED, cell(UNCHANGED, "weir", 1, 2, 1), cell(SMALL, "weir", 1.5, 1.5, 1.5),
                        more=[SMALL])
        self.assertEqual(found.undecided([UNCHANGED]), {(UNCHANGED.name, "weir"), (SMALL.name, "weir")})

    def test_a_named_rival_counts_even_if_another_is_cheaper(self):
        found = results(NAMED, cell(NAMED, "weir", 3, 3, 3), cell(NAMED, "nginx", 2, 2, 2),
                        cell(NAMED, "h2o", 1, 1, 1))
        self.assertEqual(found.main_finding(NAMED).against, "nginx")
        self.assertEqual(found.main_finding(NAMED).verdict, "missed")

    def test_a_workload_is_held_against_another_of_the_same_server(self):
        found = results(UNCHANGED, cell(UNCHANGED, "weir", 2, 2, 2), cell(SMALL, "weir", 4, 4, 4),
                        more=[SMALL])
        verdicts = {f.against: f.verdict for f in found.findings(UNCHANGED)}
        self.assertEqual(verdicts, {"best peer": None, "h2c-1k-c10-m32": "met"})

    def test_back_ends_are_held_against_each_other_and_system_calls_against_a_number(self):
        uring = cell(BACK_ENDS, "weir:uring", 9, 9, 9)
        uring.syscalls = 0.31
        found = results(BACK_ENDS, uring, cell(BACK_ENDS, "weir:epoll", 10, 10, 10))
        verdicts = {(f.against, f.metric): f.verdict for f in found.findings(BACK_ENDS)}
        self.assertEqual(verdicts["weir:epoll", "cpu_us"], "met")
        self.assertEqual(verdicts["", "syscalls"], "missed")

    def test_what_was_not_measured_is_neither_met_nor_missed(self):
        found = results(BACK_ENDS, cell(BACK_ENDS, "weir:epoll", 10, 10, 10))
        self.assertTrue(all(f.verdict is None for f in found.findings(BACK_ENDS)))
        self.assertIn("not measured", report.table(found))

    def test_an_error_shows_with_its_reason_and_without_a_number(self):
        broken = cell(SMALL, "weir", 1, 1, 1)
        broken.fail("wrong bytes in the body")
        found = results(SMALL, broken, measure.Cell(SMALL.name, "nginx", state="missing"),
                        cell(SMALL, "h2o", 2, 2, 2))
        for text in (report.table(found), report.markdown(found)):
            self.assertIn("wrong bytes in the body", text)
            self.assertIn("missing", text)
            self.assertIn("not measured", text)
        saved = {c["server"]: c for c in json.loads(json.dumps(found.to_json()))["cells"]}
        self.assertEqual(saved["weir"]["samples"], [])
        self.assertNotIn("summary", saved["weir"])
        self.assertEqual(saved["h2o"]["summary"]["cpu_us"]["median"], 2)
        self.assertIn("wrong bytes in the body", details.markdown(found))

    def test_numbers_are_short(self):
        for value, text in ((0.617, "0.62"), (12.34, "12.3"), (123.4, "123"), (45678, "45,678")):
            self.assertEqual(report.number(value), text)


class OpenLoop(unittest.TestCase):
    def row(self, server, p99, share=0.8, peer="nginx"):
        middle = {"p50": 10, "p90": 20, "p99": p99, "p99.9": 2 * p99}
        return {"workload": "w", "peer": peer, "share": share, "rate": 1000, "server": server,
                "rounds": [{"latency_us": middle}] * 3, "median": middle, "late_p99": 1,
                "client_share": 0.5, "server_share": 0.4}

    def test_weir_is_held_against_the_best_of_the_others_at_the_same_rate(self):
        for ours, word in ((30, "met"), (31, "missed")):
            found = results(SMALL)
            found.open_loop = [self.row("weir", ours), self.row("nginx", 40), self.row("h2o", 30),
                               self.row("weir", 90, 0.5), self.row("nginx", 60, 0.5)]
            (demand,) = demands.found(found)
            self.assertEqual((demand.workload, demand.against, demand.verdict),
                             ("w at 80% of nginx's peak", "h2o", word))
            self.assertEqual([r[-1] for r in openreport.rows(found)[1:]],
                             [f"{ours / 30:.2f}", "", "", "1.50", ""])
            self.assertEqual(set(openreport.plots(found)), {"latency-w.svg"})

    def test_a_server_that_failed_is_an_error_and_no_rate(self):
        found = results(SMALL)
        found.open_loop = [{"workload": "w", "server": "h2o", "error": "no answer"}]
        self.assertEqual(len(openreport.rows(found)), 1)
        self.assertIn("constant rate w on h2o: no answer", report.table(found))


class Sweeps(unittest.TestCase):
    def test_there_is_a_matrix_of_what_was_swept_and_a_line_for_the_rest(self):
        wide = Workload("h2c-1k-c1000-m4", "h2c", "1k", connections=1000, streams=4)
        found = results(SMALL, *(cell(w, s, us, us, us) for w in (SMALL, wide)
                                 for s, us in (("weir", 1), ("h2o", 2))), more=[wide])
        head, *lines = sweep.rows(found, "h2c")
        self.assertEqual([line[0] for line in lines], ["c10", "c1000"])
        self.assertEqual(lines[1][head.index("1 KiB, m4")], "0.50 h2o")
        self.assertEqual(lines[1][head.index("1 KiB, m32")], "")
        self.assertEqual([w.name for w in found.listed()], [SMALL.name])
        self.assertIn("0.50", "".join(xml.fromstring(sweep.plots(found)["sweep.svg"]).itertext()))

    def test_rounds_that_do_not_agree_ask_for_more_of_the_two_that_matter(self):
        for ours, wanted in (((1, 1.08), set()), ((1, 1.2), {(SMALL.name, "weir"), (SMALL.name, "h2o")})):
            found = results(SMALL, cell(SMALL, "weir", *ours), cell(SMALL, "h2o", 2, 2),
                            cell(SMALL, "nginx", 3, 9))
            self.assertEqual(found.unsteady([SMALL]), wanted)

    def test_the_usual_workloads_are_none(self):
        found = results(SMALL, cell(SMALL, "weir", 1), cell(SMALL, "h2o", 2))
        self.assertEqual(sweep.plots(found), {})

    def test_it_asks_nothing_of_variants(self):
        self.assertTrue(all(d.variants == () for w in SWEEP for d in w.demands))

    def test_it_covers_every_number_of_connections_and_streams(self):
        self.assertEqual(len(SWEEP), len(PROTOCOLS) * 3 * 5 * 4)


class Instructions(unittest.TestCase):
    def compare(self, counts, budget, basis=None):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            status = instructions.compare(counts, basis or {"libc6": "1"},
                                          {"basis": {"libc6": "1"}, "instructions": budget})
        return status, said.getvalue()

    def test_three_in_a_hundred_are_allowed_in_both_directions(self):
        for count, status in ((1000, 0), (1030, 0), (1031, 1), (970, 0), (969, 1)):
            self.assertEqual(self.compare({"a": count}, {"a": 1000})[0], status)

    def test_a_script_without_a_budget_is_an_error(self):
        self.assertEqual(self.compare({"b": 1000}, {"a": 1000})[0], 1)

    def test_other_libraries_are_a_reason_not_to_compare_and_it_is_said(self):
        status, said = self.compare({"a": 5000}, {"a": 1000}, {"libc6": "2"})
        self.assertEqual(status, 77)
        self.assertIn("libc6 is 2, the budget was taken with 1", said)


class Plots(unittest.TestCase):
    def test_they_are_well_formed_and_name_every_server(self):
        found = results(SMALL, cell(SMALL, "weir", 1, 1, 1),
                        measure.Cell(SMALL.name, "nginx", state="missing"),
                        cell(SMALL, "h2o", 2, 2.5, 2))
        drawn = plots.all_plots(found)
        self.assertEqual(set(drawn), {"cpu-h2c.svg", "ratio.svg"})
        words = "".join(xml.fromstring(drawn["cpu-h2c.svg"]).itertext())
        for word in ("weir", "nginx", "missing", "h2o", "demanded: 0.75 of h2o", "0.50 of h2o"):
            self.assertIn(word, words)


if __name__ == "__main__":
    unittest.main()
