"""What is printed for people: tables, colored text and bars."""
