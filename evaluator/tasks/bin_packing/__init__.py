"""Online bin packing: items arrive one at a time, and the judge owns the bins."""
