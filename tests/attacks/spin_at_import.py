# Never finish loading.
# expect: cpu_limit
# stopped by: -

while True:
    pass
