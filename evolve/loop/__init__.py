"""The loop: propose, apply, evaluate, record; its progress, and going on where it stopped."""
