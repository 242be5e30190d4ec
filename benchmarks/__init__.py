"""Benchmarks: what the product does on real input, and its ratios against named baselines."""
