# role: shared
# why: what may still be lost, to waiting and to starts, is what every choice is paid from
def slack(now):
    """How many ticks may pass without work before on-demand must be started to meet the deadline."""
    return now["deadline"] - now["tick"] - now["overhead"] - now["work_left"]
