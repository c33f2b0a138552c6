"""Run the command line: for `python -m lakejoin`, and as the script for spark-submit."""

from lakejoin.cli.main import main

if __name__ == "__main__":
    main()
