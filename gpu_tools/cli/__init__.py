"""The command line: one file a command, options in, one public function called."""
