"""Context sources: what a runtime is given besides the conversation. One source per file."""
