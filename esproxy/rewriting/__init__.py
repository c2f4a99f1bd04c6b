"""The second pass over bodies for pooled indices, on trees: what the core's one pass cannot decide by position alone. Nothing
here does I/O."""
