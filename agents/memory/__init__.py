"""Long-term memory of people: storage, search, use in runs, distillation."""
