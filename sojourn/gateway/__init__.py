"""The gateway: chat networks on one side, sessions on the other."""
