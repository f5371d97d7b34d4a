"""Values that every floor shares: programs, answers and their cost, the configuration, errors."""
