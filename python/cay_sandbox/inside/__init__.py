"""What runs in the sandbox. It is sent there as text."""
