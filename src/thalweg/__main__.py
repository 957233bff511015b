"""`python -m thalweg` is `thalweg`."""

from thalweg.cli.main import main

if __name__ == "__main__":
    main()
