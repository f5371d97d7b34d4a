"""The tasks that ship: each a folder in the same form as a user's own."""
