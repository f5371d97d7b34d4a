"""What works on this machine, and does a model answer."""
