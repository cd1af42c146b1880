"""Medians, ratios, verdicts and marks."""

import random
import unittest

import context  # noqa: F401 (sets the path)
from weirbench import stats


class Summaries(unittest.TestCase):
    def test_the_median_lies_between_the_extremes_and_ignores_order(self):
        rng = random.Random(7)
        for _ in range(500):
            values = [rng.uniform(1, 100) for _ in range(rng.randint(1, 9))]
            found = stats.summarise(values)
            self.assertEqual((found.low, found.high), (min(values), max(values)))
            self.assertLessEqual(found.low, found.median)
            self.assertLessEqual(found.median, found.high)
            below = sum(v < found.median for v in values)
            above = sum(v > found.median for v in values)
            self.assertEqual(below, above)
            rng.shuffle(values)
            self.assertEqual(stats.summarise(values), found)

    def test_one_wild_round_does_not_move_the_median(self):
        self.assertEqual(stats.summarise([2.0, 2.1, 2.2, 2.1, 900.0]).median, 2.1)

    def test_nothing_has_no_median(self):
        with self.assertRaises(ValueError):
            stats.summarise([])

    def test_spread_is_relative_to_the_median(self):
        self.assertAlmostEqual(stats.summarise([9, 10, 12]).spread, 0.3)


class Ratios(unittest.TestCase):
    def test_value_is_of_medians_and_range_of_neighbouring_rounds(self):
        found = stats.ratio([1.0, 2.0, 3.0], [2.0, 4.0, 4.0])
        self.assertEqual(found, stats.Ratio(0.5, 0.5, 0.75))

    def test_a_drift_that_hits_both_leaves_no_range(self):
        found = stats.ratio([1.0, 1.5, 2.0], [2.0, 3.0, 4.0])
        self.assertEqual((found.low, found.high), (0.5, 0.5))

    def test_rounds_must_match(self):
        with self.assertRaises(ValueError):
            stats.ratio([1.0], [1.0, 2.0])

    def test_the_best_is_the_cheapest(self):
        self.assertEqual(stats.best({"a": 3.0, "b": 1.0, "c": 2.0}), "b")
        self.assertIsNone(stats.best({}))


class Verdicts(unittest.TestCase):
    def test_table(self):
        for value, low, high, target, expected in (
                (0.60, 0.58, 0.63, 0.65, "met"),
                (0.65, 0.65, 0.65, 0.65, "met"),
                (0.64, 0.60, 0.70, 0.65, "met?"),
                (0.66, 0.60, 0.70, 0.65, "missed?"),
                (0.80, 0.78, 0.83, 0.65, "missed"),
                (0.80, 0.78, 0.83, None, None)):
            with self.subTest(value=value, target=target):
                self.assertEqual(stats.verdict(stats.Ratio(value, low, high), target), expected)


class Marks(unittest.TestCase):
    def test_the_client_is_the_limit_only_when_it_is_busy_and_the_server_is_not(self):
        for server, client, expected in ((1.0, 1.0, False), (0.95, 1.0, False),
                                         (0.94, 0.71, True), (0.5, 0.70, False)):
            with self.subTest(server=server, client=client):
                self.assertEqual(stats.client_bound(server, client), expected)

    def test_spread_or_other_load_makes_a_cell_noisy(self):
        self.assertFalse(stats.noisy(0.10, 0.01))
        self.assertTrue(stats.noisy(0.20, 0.01))
        self.assertTrue(stats.noisy(0.10, 0.10))


if __name__ == "__main__":
    unittest.main()
