"""The record of a run: code and texts in git, events in a journal. Storage only: it chooses and judges nothing."""
