"""What list mode and site mode share of proteins: columns, rows, walks, translation."""
