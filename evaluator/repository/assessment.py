"""What was measured of a program of a repository, and the same as a recording that travels."""

from dataclasses import dataclass

from evaluator.evaluation import Outcome
from evaluator.pairs import ORDINARY, Pair
from evaluator.program_files import Files
from evaluator.recording import PairedRecording, Recording, RecordingMismatch
from evaluator.repository.commands import CommandFailed, PassedTests
from evaluator.repository.printed import LEAST_NUMBER, MOST_NUMBER
from evaluator.repository_task import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """A program that passed its tests, and its pairs with the unchanged code (none of the unchanged code itself).
    `own` is the median measurement of the program."""

    tests: PassedTests
    pairs: tuple[Pair, ...]
    own: float

    def recorded(self) -> Recording:
        """The recording."""
        tests = self.tests
        return Recording(
            paired=PairedRecording(
                tests=tests.count,
                cpu_s=tests.cpu_s,
                wall_s=tests.wall_s,
                peak_memory_mb=tests.peak_memory_mb,
                pairs=self.pairs,
                own=self.own,
            )
        )


def recorded_failure(failed: CommandFailed) -> Recording:
    """The recording of a program of which a command failed."""
    return Recording(paired=PairedRecording(failure=failed.outcome, detail=failed.detail, output=failed.output))


def assessment_of(recording: Recording, repository: Repository, program: Files, unchanged: Files) -> Assessment:
    """What another machine measured of a program. Raises CommandFailed where it failed there, and RecordingMismatch for
    what cannot be."""
    if recording.takes_worker_down is not None:
        raise CommandFailed(Outcome.CRASH, recording.takes_worker_down)
    paired = recording.paired
    if paired is None:
        raise RecordingMismatch("its report is of another kind of task")
    if paired.failure is not None:
        if paired.failure in (Outcome.OK, Outcome.NOT_RUN):
            raise RecordingMismatch("its report has a failure that is none")
        raise CommandFailed(paired.failure, paired.detail, paired.output)
    if repository.tests is not None and (paired.tests is None or paired.tests < repository.tests):
        raise RecordingMismatch("its report has fewer tests than ran of the unchanged code")
    if len(paired.pairs) != (0 if program == unchanged else ORDINARY):
        raise RecordingMismatch("its report has another number of pairs")
    numbers = [paired.own, *(number for pair in paired.pairs for number in (pair.reference, pair.candidate))]
    if not all(LEAST_NUMBER <= number <= MOST_NUMBER for number in numbers):
        raise RecordingMismatch("its report has a measurement that is impossible")
    tests = PassedTests(
        count=paired.tests, cpu_s=paired.cpu_s, wall_s=paired.wall_s, peak_memory_mb=paired.peak_memory_mb
    )
    return Assessment(tests=tests, pairs=paired.pairs, own=paired.own)
