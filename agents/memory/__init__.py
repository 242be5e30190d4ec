"""Long-term memory: kept per person, searched, given to runs, distilled after them."""
