"""The engine process: owner of the encoder and, in embedded mode, of the Edge shard."""
