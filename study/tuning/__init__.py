"""How the settings of `GT2Regressor.strong` were found, inside the training parts only."""
