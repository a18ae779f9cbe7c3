"""The teacher's commands: ``python -m attention_lib.coursework COMMAND --help``."""

import sys

from attention_lib.coursework.commands import main

if __name__ == "__main__":
    sys.exit(main())
