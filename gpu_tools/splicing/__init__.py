"""What list mode and site mode of spliced alignment share."""
