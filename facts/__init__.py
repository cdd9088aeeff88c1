"""The fact store."""
