"""Small worlds in which the truth is known: for tests, for docs, for miniature claims and the demo."""
