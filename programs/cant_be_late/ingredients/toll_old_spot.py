# role: toll
# why: spot that has outlived the short times stays for long, and pays for any start
# needs: lasted
# wire: add to TOLLS
OLD_SPOT = 10.0
OLD_SHARE = 0.1


def toll_old_spot(now):
    """A share of the work left for each tick of a start, off the toll, once spot has been there for long."""
    return -OLD_SHARE * now["overhead"] * now["work_left"] if lasted(now) > OLD_SPOT else 0.0
