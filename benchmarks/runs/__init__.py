"""The run engine against a raw pass-through of the same stream, over HTTP, on a scripted model."""
