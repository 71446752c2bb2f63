"""What a classifier can be: settings, validation, naive Bayes over columns, models in a vector space, the file."""
