"""Which model, where: chosen from the settings, or found on this machine. Nothing here loads an agent library."""
