"""A whole run again from its record: no model is asked, no key is needed."""
