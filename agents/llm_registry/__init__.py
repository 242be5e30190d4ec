"""Language models that administrators register: who may use them, opened for runs, and their cost."""
