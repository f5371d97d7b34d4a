# role: pace
# why: on-demand that runs although there is slack left costs three times what spot does
# needs: in_time
# wire: result = back_to_spot({result}, now)
def back_to_spot(choice, now):
    """Spot in place of on-demand wherever spot is there, as long as the deadline allows it."""
    return in_time("spot" if now["spot"] else choice, now)
