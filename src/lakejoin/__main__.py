"""`python -m lakejoin`, and the script that spark-submit runs."""

from lakejoin.app.cli import main

if __name__ == "__main__":
    main()
