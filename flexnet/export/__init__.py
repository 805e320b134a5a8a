"""What leaves flexnet: task graph files, strategy files."""
