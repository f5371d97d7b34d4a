"""The whole loop against a proposer that answers at once. Usage: python tests/benchmarks/loop.py [PROGRAMS]"""

import resource
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluator.evaluation import Evaluation
from evaluator.program_files import Files
from evaluator.task_files import load_task
from evolve.core.completion import Completion
from evolve.core.config import build_config
from evolve.core.program import PatchKind
from evolve.loop.session import new_session
from evolve.progress import Event, Progress
from evolve.proposal import Request
from evolve.seams import Evaluator
from evolve.search.strategies import open_search

MARK = "# EVOLVE-BLOCK-START\n"


class AtOnce:
    """Adds one constant to the parent, another one every time: always a new program, never a better one."""

    name = "at-once"
    kinds = frozenset({PatchKind.DIFF})

    def prompt(self, request: Request) -> str | None:
        return f"a prompt as it would be recorded, for generation {request.generation}\n" * 40

    def estimate_usd(self, prompt: str | None) -> float:
        return 0.0

    def answer(self, request: Request, prompt: str | None, observe: object) -> Completion:
        first = request.parent.program.files.only.split(MARK, 1)[1].split("\n", 1)[0]
        text = f"<<<<<<< SEARCH\n{first}\n=======\nVARIANT = {request.generation}\n{first}\n>>>>>>> REPLACE"
        return Completion(text=f"<NAME>variant</NAME>\n<DESCRIPTION>a constant</DESCRIPTION>\n<DIFF>\n{text}\n</DIFF>")


class Timed:
    """An evaluator, and the CPU seconds that the threads of this process spent in it."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._lock = threading.Lock()
        self.cpu_s = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._evaluator, name)

    def evaluate(self, program: Files) -> Evaluation:
        began = time.thread_time()
        try:
            return self._evaluator.evaluate(program)
        finally:
            with self._lock:
                self.cpu_s += time.thread_time() - began


class Watch:
    """Prints the pace of every stretch of programs."""

    def __init__(self, stretch: int, judge: Timed) -> None:
        self._stretch = stretch
        self._judge = judge
        self._last = (0, time.monotonic(), own_cpu(), judge.cpu_s)

    def tell(self, event: Event, progress: Progress) -> None:
        done, then, cpu, judging = self._last
        if progress.finished >= done + self._stretch:
            now, used, judged = time.monotonic(), own_cpu(), self._judge.cpu_s
            n = progress.finished - done
            pace, own, judge = n / (now - then), 1000 * (used - cpu) / n, 1000 * (judged - judging) / n
            print(
                f"programs {done:>6} to {progress.finished:<6} {pace:7.1f} candidates/s, CPU of ours for each: "
                f"{own:6.2f} ms, {judge:6.2f} of them judging, {own - judge:6.2f} apart from it",
                flush=True,
            )
            self._last = (progress.finished, now, used, judged)

    def tick(self, progress: Progress) -> None:
        pass


def own_cpu() -> float:
    """CPU seconds of this process: the loop, the archive and the harness's side of evaluating; no candidate."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    programs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    document = {"generations": programs, "parallel": 4, "initial": str(load_task("placement").initial)}
    config = build_config(document, origin="benchmark")
    with tempfile.TemporaryDirectory() as folder, new_session(config, Path(folder) / "run") as opened:
        models = replace(opened.models, proposers={"offline": AtOnce()})
        session = replace(opened, models=models, search=open_search(models.search_settings(config)))
        judge = Timed(session.evaluators.evaluator)
        session = replace(session, evaluators=replace(session.evaluators, evaluator=judge))
        level = session.evaluators.evaluator.sandbox
        print(f"sandbox level {level}, {config.workers} workers, {config.parallel} in flight")
        session.run(Watch(max(100, programs // 10), judge), threading.Event())


main()
