"""`python -m anyshot_starting_kit.cli`: the command `anyshot` of this very Python."""

from anyshot_starting_kit.cli import main

if __name__ == "__main__":
    main()
