"""Step functions whose autoconvolution has a small maximum: the first autocorrelation inequality."""
