"""Cloudcast: one source sends data to several cloud regions, for as little money as possible."""
