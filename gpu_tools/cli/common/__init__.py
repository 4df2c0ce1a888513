"""What several commands share: options, inputs, progress."""
