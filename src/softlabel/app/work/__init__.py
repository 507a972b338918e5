"""What the processes of the explorer do. Nothing here loads the web framework, so that a process starts at once."""
