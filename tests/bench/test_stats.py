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
    def test_few_rounds_leave_it_anywhere_between_their_extremes(self):
        found = stats.ratio({0: 1.0, 1: 2.0, 2: 3.0}, {0: 2.0, 1: 4.0, 2: 4.0})
        self.assertEqual(found, stats.Ratio(0.5, 0.5, 0.75))

    def test_a_drift_that_hits_both_leaves_no_range(self):
        found = stats.ratio({0: 1.0, 1: 1.5, 2: 2.0}, {0: 2.0, 1: 3.0, 2: 4.0})
        self.assertEqual((found.low, found.high), (0.5, 0.5))

    def test_rounds_that_one_was_not_in_do_not_count(self):
        found = stats.ratio({0: 1.0, 1: 9.0, 3: 1.0}, {0: 2.0, 2: 7.0, 3: 4.0})
        self.assertEqual(found, stats.Ratio(0.375, 0.25, 0.5))
        with self.assertRaises(ValueError):
            stats.ratio({0: 1.0}, {1: 1.0})

    def test_as_many_are_outliers_as_the_tables_of_the_sign_test_say(self):
        for count, outside in ((1, 0), (2, 0), (5, 0), (8, 0), (9, 1), (11, 1), (12, 2), (15, 3), (17, 4), (20, 5)):
            with self.subTest(count=count):
                self.assertEqual(stats.outliers(count), outside)

    def test_the_range_holds_the_true_median_as_often_as_it_says(self):
        rng = random.Random(11)
        ones = {n: 1.0 for n in range(15)}
        held = 0
        for _ in range(2000):
            found = stats.ratio({n: rng.lognormvariate(0, 0.2) for n in range(15)}, ones)
            held += found.low <= 1 <= found.high
        self.assertGreaterEqual(held / 2000, stats.CONFIDENCE)

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
