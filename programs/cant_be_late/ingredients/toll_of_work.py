# role: toll
# why: slack is worth more while much work is left, and a start takes more of it the longer it is
# wire: add to TOLLS
TOLL_SHARE = 0.1


def toll_of_work(now):
    """For each tick of a start a share of the work left."""
    return TOLL_SHARE * now["overhead"] * now["work_left"]
