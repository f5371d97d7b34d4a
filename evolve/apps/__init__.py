"""Applications of the whole: experiments, placing, importing, doctor."""
