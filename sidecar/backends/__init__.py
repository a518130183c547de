"""What runs an experiment. The simulator runs qtypes in worker processes."""
