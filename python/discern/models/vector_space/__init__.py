"""Models in a vector space: columns as axes, and what decides there."""
