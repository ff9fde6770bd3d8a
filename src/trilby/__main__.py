"""`python -m trilby` is the `trilby` command."""

import sys

from trilby.cli import main

sys.exit(main())
