"""The newest events of runs on their way to those who follow them; the truth is the log in SQL."""
