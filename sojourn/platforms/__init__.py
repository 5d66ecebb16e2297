"""Chat networks, each one small file. `docs/how-to/add-a-platform.md` tells how to add one."""
