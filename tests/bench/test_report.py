"""Cells become tables, and nothing that went wrong is left out of them."""

import json
import unittest
import xml.etree.ElementTree as xml

import context  # noqa: F401 (sets the path)
from weirbench import measure, plots, report
from weirbench.workloads import Workload

SMALL = Workload("h2c-1k", "h2c", "1k.bin", connections=10, streams=32, target=0.75)
NAMED = Workload("h2-full", "h2", "6b.bin", connections=9, connects=9, target=1.1, against="nginx")

FACTS = {
    "started": "2026-01-02 03:04:05 +0000", "quick": False, "rounds": 3, "seconds": 1.0,
    "servers": {"weir": "weir 1", "nginx": "nginx 1", "h2o": "h2o 1"},
    "environment": {
        "cpu": "a <CPU>", "cores": 2, "hypervisor": True, "memory_mib": 1, "system": "Debian",
        "kernel": "6", "governor": None, "server_core": 0, "client_core": 1, "loopback_mtu": "1",
        "files_on": "ext4", "load_average": [0.0, 0.0, 0.0], "revision": None,
        "siblings": False, "niceness": 0,
        "clients": {"h2load": "1"}},
}


def cell(workload, server, *cpu_us):
    samples = [measure.Sample(
        requests=1000, seconds=0.01, server_cpu_s=us / 1000, client_cpu_s=0.01, client_share=0.5,
        server_share=0.99, others_share=0.0, peak_rss_kib=2048, anon_rss_kib=1024,
        data_bytes=1, frame_bytes=1, header_bytes=14000) for us in cpu_us]
    return measure.Cell(workload.name, server, samples=samples, wire_in=1056.5, wire_out=30.0)


def results(workload, *cells):
    found = report.Results(FACTS, [workload], ["weir", "nginx", "h2o"])
    found.add(cells)
    return found


class Tables(unittest.TestCase):
    def test_the_rival_is_the_cheapest_peer_and_never_a_weir(self):
        found = results(SMALL, cell(SMALL, "weir", 1, 1, 1), cell(SMALL, "nginx", 9, 9, 9),
                        cell(SMALL, "h2o", 2, 2, 2))
        self.assertEqual(found.rival(SMALL).server, "h2o")
        self.assertEqual(found.ratio(SMALL).value, 0.5)
        self.assertEqual(found.verdict(SMALL), "met")

    def test_a_named_rival_counts_even_if_another_is_cheaper(self):
        found = results(NAMED, cell(NAMED, "weir", 3, 3, 3), cell(NAMED, "nginx", 2, 2, 2),
                        cell(NAMED, "h2o", 1, 1, 1))
        self.assertEqual(found.rival(NAMED).server, "nginx")
        self.assertEqual(found.verdict(NAMED), "missed")

    def test_an_error_shows_with_its_reason_and_without_a_number(self):
        broken = cell(SMALL, "weir", 1, 1, 1)
        broken.fail("wrong bytes in the body")
        found = results(SMALL, broken, measure.Cell("h2c-1k", "nginx", state="missing"),
                        cell(SMALL, "h2o", 2, 2, 2))
        for text in (report.table(found), report.markdown(found)):
            self.assertIn("wrong bytes in the body", text)
            self.assertIn("missing", text)
            self.assertIn("not measured", text)
        saved = {c["server"]: c for c in json.loads(json.dumps(found.to_json()))["cells"]}
        self.assertEqual(saved["weir"]["samples"], [])
        self.assertNotIn("summary", saved["weir"])
        self.assertEqual(saved["h2o"]["summary"]["cpu_us"]["median"], 2)

    def test_numbers_are_short(self):
        for value, text in ((0.617, "0.62"), (12.34, "12.3"), (123.4, "123"), (45678, "45,678")):
            self.assertEqual(report.number(value), text)


class Plots(unittest.TestCase):
    def test_they_are_well_formed_and_name_every_server(self):
        found = results(SMALL, cell(SMALL, "weir", 1, 1, 1),
                        measure.Cell("h2c-1k", "nginx", state="missing"),
                        cell(SMALL, "h2o", 2, 2.5, 2))
        drawn = plots.all_plots(found)
        self.assertEqual(set(drawn), {"cpu-h2c.svg", "ratio.svg"})
        words = "".join(xml.fromstring(drawn["cpu-h2c.svg"]).itertext())
        for word in ("weir", "nginx", "missing", "h2o", "demanded: 0.75 of h2o", "0.50 of h2o"):
            self.assertIn(word, words)


if __name__ == "__main__":
    unittest.main()
