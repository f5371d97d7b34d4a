"""Applications of the whole: experiments, audits, placing, importing, doctor."""
