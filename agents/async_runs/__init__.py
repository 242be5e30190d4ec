"""Asynchronous runs (seeds 000 and 004): their input, their events, their answers, their history."""
