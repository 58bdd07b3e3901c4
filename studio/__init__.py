"""What stands behind the page: the device's one worker, and what a visitor's conversation holds."""
