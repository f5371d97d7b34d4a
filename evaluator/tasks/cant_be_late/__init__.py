"""Can't be late: a job with a deadline on spot and on-demand machines, decided tick by tick."""
