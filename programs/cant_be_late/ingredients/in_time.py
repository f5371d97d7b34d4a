# role: shared
# why: a missed deadline fails the program, so that any choice must leave time for on-demand
def in_time(choice, now):
    """The choice, or on-demand where a start of it would come too late after this tick."""
    left = now["work_left"]
    if choice == "spot" and now["running"] == "spot" and now["starting"] == 0:
        left -= 1
    late = left > 0 and now["tick"] + 1 + now["overhead"] + left > now["deadline"]
    return "on_demand" if late else choice
