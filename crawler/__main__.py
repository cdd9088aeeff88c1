"""`python -m crawler` is `harvester`."""

from crawler.cli import main

if __name__ == "__main__":
    main()
