"""Skills inside runs: chosen when a run begins, loaded, and keeping its tools to what they allow."""
