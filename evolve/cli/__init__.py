"""The commands: read arguments, call, print. One module each, imported only when it is called."""
