"""Evaluations on a Dask cluster: the broker between head and scheduler, the workers, a cluster on this machine."""
