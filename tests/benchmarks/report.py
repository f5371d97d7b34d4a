"""The size of `evolve report` for a whole run with a model. Usage: python tests/benchmarks/report.py [GENERATIONS]

The run is a real one on the placement suite `adrs` (`worded.py`): prompts of the templates with parents, inspirations
and insights reports in them, answers of about 2 KB, an insights report every 20 programs.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from worded import long_run

from evolve.archive.reader import RunReader


def main() -> None:
    generations = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    with tempfile.TemporaryDirectory() as name:
        began = time.monotonic()
        run = long_run(Path(name), generations)
        print(f"a run of {generations} generations: {time.monotonic() - began:.1f} s")
        with RunReader.open(run) as archive:
            attempts = [attempt for number in archive.statuses for attempt in archive.attempts(number)]
            prompts = sum(len(archive.text(one.prompt)) for one in attempts if one.prompt)
            answers = sum(len(archive.text(one.answer)) for one in attempts if one.answer)
            sources = [archive.files(record).only for record in archive.programs]
            print(f"  {len(sources)} programs, {sum(map(len, sources)) / 1e6:.1f} MB of code")
            print(f"  prompts {prompts / 1e6:.1f} MB, answers {answers / 1e6:.1f} MB")
        began = time.monotonic()
        command = [sys.executable, "-m", "evolve", "report", str(run), "-o", str(Path(name) / "r.html")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        size = (Path(name) / "r.html").stat().st_size
        print(f"the report: {size / 1e6:.2f} MB, in {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
