"""What is measured: estimators, texts, classifiers of tables, and functions, each on its shapes."""
