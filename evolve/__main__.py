"""`python -m evolve`."""

import sys

from evolve.cli.main import main

sys.exit(main())
