# role: pace
# why: work that falls behind a steady pace is done on on-demand while there is slack to come back
# needs: in_time
# wire: result = catch_up({result}, now)
PACE_SHARE = 0.1


def catch_up(choice, now):
    """On-demand in place of waiting, where the work done is behind a share of what uniform progress has done."""
    done = now["work"] - now["work_left"]
    behind = done < PACE_SHARE * now["work"] * now["tick"] / now["deadline"]
    return in_time("on_demand" if choice == "wait" and behind else choice, now)
