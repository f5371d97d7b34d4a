"""A model that answers as people saw one do, slips included: where the calls of a run of 40 proposals go."""

import itertools
import re
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from evolve.archive.reader import RunReader
from evolve.archive.records import EVALUATED_REASONS
from tests.loop.climbing import configure, events, finish, is_meta, meta_answer, model, opened, patch
from tests.openai_server import Behaviour, OpenAIServer, answer

PROPOSALS = 40
ATTEMPTS = 3
EVERY = 10


class Claim(NamedTuple):
    """A false claim in an insights report: what is left of it if it is believed, and what is noted of it if not."""

    text: str
    believed: str
    noted: str


FALSE = [
    Claim("40 passes gained 63 slots.", r"\b40 passes|\b63 slots", "unverified figure: 63"),
    Claim("Forty-one passes gained a third more.", "Forty-one", "unverified figure: Forty-one"),
    Claim("[gen {better}] swapped neighbours, instance 1 worse.", "swapped neighbours", "not worse on instance 1"),
    Claim("[gen {worse}] turned round, better on instances 0 and 2.", "turned round", "not better on instance 0"),
    Claim("[gen {failed}] leads, by a longer step.", "by a longer step", r"generation \d+ has no correct program"),
    Claim("[gen 999] found the number.", "found the number", "no such generation"),
    Claim("[gen {better}] takes `150_000` steps.", "150_000", "not in the program that is cited: `150_000`"),
    Claim("generation {better} (99.75, 88.75 better than its parent) did it.", r"\b99\.75|\b88\.75", ""),
]
TRUE = "[gen {better}] went on, better on instances 0 and 1."
ADVICE = (
    "1. **A longer step**: 17 slots are to be had.\n2. **A shorter step**: go on with care, as [gen {better}] did.\n"
)
PROSE = "Steps towards the number help.\n\n1. **A longer step**: go further at once.\n"
ADVISED = Claim(ADVICE, r"\b17 slots", "unverified figure: 17")


class Erring:
    """Proposals, of which some do not fit, fail, lose or come twice; reports with headings, or in plain prose, which
    claim what is false of the programs that they are about."""

    def __init__(self, *, prose: bool) -> None:
        self._prose, self._lock = prose, threading.Lock()
        self._numbers, self._repairs = itertools.count(1), itertools.count(1)
        self._seen = dict[str, int]()  # the newest generation that was better, worse, or failed
        self.reports = 0  # that hold every claim

    def __call__(self, request: Any) -> Behaviour:
        prompt = request["messages"][0]["content"]
        if is_meta(request):
            return answer(self._report(prompt), tokens=(900, 200), after_s=0.1)
        refused = "could not be used" in prompt
        with self._lock:
            number = next(self._repairs if refused else self._numbers)
        if refused and "OFFSET = 'far'" in prompt:
            text = patch("OFFSET = 'farther'", name="another_word")
        else:
            text = patch(0.7 + number / 997) if refused else self._slip(number)
        return answer(text, after_s=0.05)

    def _slip(self, number: int) -> str:
        match number % 20:
            case 5:
                return patch(1).replace("# next\n=", "# nowhere\n=")
            case 9:
                return patch("OFFSET -= stepp", name="a_name_nobody_defined")
            case 12:
                return patch("OFFSET = None", name="no_offset")
            case 15 | 16:
                return patch(2.5, name="the_same_again")
            case 8:
                return patch("OFFSET = 'far'", name="a_word")
            case _:
                return patch((-1 if number % 7 == 3 else 0.5) + number / 997, name=f"step_{number}")

    def _report(self, prompt: str) -> str:
        if prompt.startswith("You describe programs"):
            parts = re.split(r"^# Generation (\d+):", prompt, flags=re.MULTILINE)
            for generation, text in zip(parts[1::2], parts[2::2], strict=True):
                self._seen[self._did(text)] = int(generation)
            figures = f"{FALSE[0].text} {FALSE[1].text}"
            return figures if self._prose else meta_answer(prompt).replace("go on.", f"{figures} Go on.")
        if len(self._seen) < 3:
            return PROSE if self._prose else meta_answer(prompt)
        self.reports += 1
        claims = [text.format(**self._seen) for text in (*(claim.text for claim in FALSE), TRUE)]
        advice = ADVICE.format(**self._seen)
        if self._prose:
            return f"{' '.join(claims)}\n\n{advice}"
        bullets = "\n".join(f"- **A point**: {claim}" for claim in claims)
        return meta_answer(prompt).replace("- a point", bullets).replace("1. **Go on**: take another step.\n", advice)

    def _did(self, text: str) -> str:
        if "\n- not correct" in text:
            return "failed"
        return "worse" if re.search(r"compared with its parent.* 0 better", text) else "better"


class Ran(NamedTuple):
    """A run of that model, as its record tells of it."""

    model: Erring
    calls: int
    journal: list[dict[str, Any]]
    archive: RunReader
    reports: list[str]


@pytest.fixture(scope="module", params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["headings", "prose"])
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    folder = tmp_path_factory.mktemp("every_call")
    erring = Erring(prose=request.param)
    with OpenAIServer(default=erring) as server:
        config = configure(
            folder,
            models=[model(server.url, api_key_env=None)],
            generations=PROPOSALS,
            parallel=4,
            workers=2,
            meta_every=EVERY,
            attempts=ATTEMPTS,
            search={"elites": 12, "unguided": 0.1, "stagnation": PROPOSALS},
        )
        finish(folder, "run", config, "--name", "r")
        calls = len(server.requests)
    with opened(folder) as archive:
        reports = [path.read_text(encoding="utf-8") for path in (folder / "runs" / "r" / "meta").glob("*.md")]
        yield Ran(model=erring, calls=calls, journal=events(folder), archive=archive, reports=reports)


def test_at_most_a_fifth_of_the_calls_are_for_reports(ran: Ran) -> None:
    answered = Counter(event["event"] for event in ran.journal)
    assert ran.calls == answered["answered"] + answered["meta_answered"]
    assert answered["meta_answered"] <= 0.2 * ran.calls
    reports = ran.archive.meta.reports
    assert len(reports) >= 2
    assert reports[max(reports)].recommendations


def test_a_round_begins_once_the_last_report_had_its_use(ran: Ran) -> None:
    """Enough programs wait, and as many were asked for with that report; or three times as many wait."""
    asked, programs, begun, in_force = set[int](), 0, 0, 0
    rounds = 0
    for event in ran.journal:
        if event["event"] == "asked":
            asked.add(event["generation"])
        elif event["event"] == "evaluated":
            programs += 1
        elif event["event"] == "summarising" and event["programs"] > begun:
            used = len(asked) - in_force >= EVERY
            assert event["programs"] - begun >= (EVERY if used else 3 * EVERY)
            begun, rounds = event["programs"], rounds + 1
        elif event["event"] == "summarised":
            in_force = len(asked)
    assert programs >= PROPOSALS and rounds >= 2


def test_no_two_questions_are_the_same(ran: Ran) -> None:
    """No number, name or order tells two of them apart."""

    def chosen(event: dict[str, Any]) -> tuple[Any, ...]:
        guidance = event.get("guidance") or {}
        advice = (guidance["document"], guidance["recommendation"]) if "recommendation" in guidance else None
        return event["kind"], *event["parents"], frozenset(event["inspirations"]), advice, event.get("direction")

    asked = [event for event in ran.journal if event["event"] == "asked" and not event["attempt"]]
    assert len(set(map(chosen, asked))) == len(asked) == PROPOSALS


def test_a_parent_that_is_chosen_as_the_best_is_the_best_on_record(ran: Ran) -> None:
    """Whether it is confirmed or not. Only repairs have another parent here, since no choice is drawn widely."""
    scores, provisional, of_provisional = dict[int, float](), set[int](), 0
    for event in ran.journal:
        if event["event"] in ("evaluated", "rescored"):
            generation, verdict = event["generation"], event["evaluation"]
            scores[generation] = verdict["combined_score"] if verdict["correct"] else 0.0
            provisional = provisional | {generation} if event.get("provisional") else provisional - {generation}
        elif event["event"] == "asked" and not event["attempt"] and event["kind"] != "fix":
            parent = ran.archive.find(event["parents"][0]).generation
            assert scores[parent] == max(scores.values()), event["generation"]
            of_provisional += parent in provisional
    assert of_provisional


def test_each_false_claim_is_caught_and_a_true_one_stays(ran: Ran) -> None:
    prompts = [ran.archive.text(e["prompt"]) for e in ran.journal if e["event"] in ("asked", "meta_answered")]
    texts = "\n".join([*ran.reports, *prompts])
    notes = "\n".join(note for notes in ran.archive.meta.corrections.values() for note in notes)
    assert ran.model.reports
    for claim in (*FALSE, ADVISED):
        assert not re.search(claim.believed, texts), claim
        assert re.search(claim.noted, notes), claim
    assert "went on, better on instances 0 and 1" in texts


def test_each_first_failed_evaluation_goes_back_once(ran: Ran) -> None:
    returned = 0
    for generation in range(1, PROPOSALS + 1):
        attempts, program = ran.archive.attempts(generation), ran.archive.program(generation)
        went_back = [attempt for attempt in attempts if attempt.reason in EVALUATED_REASONS]
        failed = program is not None and not program.correct
        assert len(went_back) <= 1
        assert went_back or not failed or len(attempts) == ATTEMPTS, f"{generation} failed, and no attempt followed"
        assert not went_back or went_back[0] is not attempts[-1], f"{generation} was not asked again"
        returned += len(went_back)
    assert returned == 4, "no_offset and a_word, twice each"
    assert any(not program.correct for program in ran.archive.programs), "one fails again, which is its verdict"
