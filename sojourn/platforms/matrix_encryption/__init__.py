"""End-to-end encryption for Matrix: a client with keys of its own. Needs the extra `matrix-e2e`."""
