"""What code computes over the generations of a run: what each is measured against, and what all of them add up to."""
