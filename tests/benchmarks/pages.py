"""The live page of a run of 2,000 attempts with prompts. Usage: python tests/benchmarks/pages.py [ATTEMPTS]

Prints the time until the page of the run is drawn in headless Chromium, until each other view is, from the record of a
new program until the page has an event of it, and until all else of the run is there when it is asked for then.
"""

import http.client
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from archive import write
from playwright.sync_api import sync_playwright

from evaluator.evaluator import SandboxedEvaluator
from evaluator.task_files import load_task
from evolve.archive.archive import Archive
from evolve.archive.reader import RunReader
from evolve.core.completion import Completion
from evolve.review.generations import all_generations
from evolve.view import payload
from tests.builders import make_made, make_question, one_file

VIEWS = ("generations", "tree", "instances", "failures", "meta", "calls", "about", "program/1", "")


def shown(page: Any, view: str) -> float:
    """Seconds from the change of the address until the view is painted."""
    return page.evaluate(  # type: ignore[no-any-return]
        """(view) => new Promise((done) => {
            const main = document.getElementById("main"), began = performance.now();
            delete main.dataset.view;
            const look = () => main.dataset.view
                ? requestAnimationFrame(() => requestAnimationFrame(() => done((performance.now() - began) / 1000)))
                : setTimeout(look, 1);
            location.hash = view;
            look();
        })""",
        view,
    )


def next_program(writer: Archive, number: int) -> float:
    """Record one more program; when it was on record, in wall seconds."""
    parent = writer.reader.programs[-1]
    again = writer.reader.evaluation(parent)
    writer.asked(make_question(number, [parent]), None)
    writer.answered(number, 0, Completion(text="one more"))
    made = make_made(number, again, parents=(parent.commit,), origin=parent.origin, source_hash=f"{number:064x}")
    writer.evaluated(made, files=one_file(f"x = {number}\n"), patch_text="one more", answers=None)
    return time.time()


@contextmanager
def listening(below: str, run: str) -> Iterator[http.client.HTTPResponse]:
    """The events of a run from now on, of the server whose addresses begin with `below`."""
    urllib.request.urlopen(f"{below}api/run/{run}/gen/0").read()  # it has opened the run then
    host = below.split("/")[2]
    connection = http.client.HTTPConnection(host)
    connection.request("GET", f"{below.partition(host)[2]}api/events?run={run}")
    events = connection.getresponse()
    events.readline()
    time.sleep(1)  # it has looked at the run by then
    yield events
    connection.close()


def until_sent(events: http.client.HTTPResponse, number: int) -> float:
    """When an event of that program came, in wall seconds."""
    while f'"n":[{number}],"status":["evaluated"]'.encode() not in events.readline():
        pass
    return time.time()


def meanwhile(below: str, writer: Archive, attempts: int) -> None:
    """How soon new programs are sent while the server makes the document of the run for the first time."""
    with listening(below, writer.folder.name) as events:
        began = time.time()
        asked = threading.Thread(target=lambda: urllib.request.urlopen(f"{below}api/run/{writer.folder.name}").read())
        asked.start()
        for number in range(attempts, attempts + 3):
            recorded = next_program(writer, number)
            after = until_sent(events, number) - recorded
            print(f"  a new program is sent {after:.2f} s after its record (document under way: {asked.is_alive()})")
        asked.join()
        print(f"  the first document is there {time.time() - began:.2f} s after it was asked for")


def measure(folder: Path, attempts: int) -> None:
    with RunReader.open(folder) as archive:
        views = all_generations(archive)
        for name, question in (
            ("a whole run", lambda: payload.run_document("run", archive)),
            ("what has changed", lambda: payload.changes(archive, archive.timeline.events - 3)),
            ("what that leaves out", lambda: payload.rest(archive, views)),
        ):
            question()
            began = time.perf_counter()
            question()
            print(f"  the server makes the document of {name} in {1000 * (time.perf_counter() - began):.1f} ms")
    command = [sys.executable, "-m", "evolve", "view", str(folder), "--no-open"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    found = re.search(r"http://\S+", server.stdout.readline())
    assert found is not None
    try:
        below = found[0].partition("#")[0]  # which ends with the key
        with Archive.open(folder) as writer:
            meanwhile(below, writer, attempts)
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            for time_ in ("first", "second"):
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                began = time.perf_counter()
                page.goto(found[0])
                page.wait_for_selector("main[data-view]", state="attached", timeout=120_000)
                paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
                drawn = time.perf_counter() - began
                print(f"  drawn {drawn:.2f} s after its address ({time_} time), first paint {paint} ms")
            for view in VIEWS:
                print(f"  view {view or 'run':<12} {shown(page, f'#/run/{folder.name}/{view}'):.3f} s")
            browser.close()
        with Archive.open(folder) as writer, listening(below, folder.name) as events:
            for number in range(attempts + 3, attempts + 8):
                recorded = next_program(writer, number)
                sent = until_sent(events, number)
                rest = urllib.request.urlopen(f"{below}api/run/{folder.name}/rest").read()
                print(
                    f"  a new program is sent {sent - recorded:.2f} s after its record; all else of the run, "
                    f"{len(rest) / 1e3:.0f} KB, {1000 * (time.time() - sent):.0f} ms after it was asked for"
                )
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    attempts = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    task = load_task("placement")
    source = task.initial.read_text()
    with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
        evaluation = evaluator.evaluate(one_file(source))
    with tempfile.TemporaryDirectory() as name:
        write(Path(name) / "run", attempts, source, evaluation, texts=True)
        measure(Path(name) / "run", attempts)


if __name__ == "__main__":
    main()
