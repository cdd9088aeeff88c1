"""What the house asks of itself beyond lint and types: `python -m checks.NAME` says what to mend and exits 1."""
