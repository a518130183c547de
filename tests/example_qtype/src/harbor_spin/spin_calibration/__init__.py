"""The bundle of the task `spin_calibration`."""
