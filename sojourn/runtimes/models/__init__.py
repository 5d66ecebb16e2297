"""Model selection: from the settings or from servers on this machine. No module here imports the agent library."""
