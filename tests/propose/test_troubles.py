"""What is known of a model's server from the events of its calls, in a time of the test's own."""

from evolve.core.completion import CallEvent, CallPhase, PatchKey
from evolve.progress import ServerTrouble
from evolve.propose.troubles import REPEATED_AFTER_S, Troubles

FIRST, SECOND = PatchKey(1, 0), PatchKey(2, 0)


class Servers:
    """Troubles under a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.troubles = Troubles(lambda: self.now)

    def hear(self, key: PatchKey, phase: CallPhase, status: str = "", **more: object) -> None:
        event = CallEvent(call=0, phase=phase, status=status or phase, model="m", **more)  # type: ignore[arg-type]
        self.troubles.note(key, event)

    def refuse(self, key: PatchKey, again_in_s: float | None) -> None:
        self.hear(key, CallPhase.FAILED, "rate_limited", message="HTTP 429: slow down", again_in_s=again_in_s)


def test_a_refusal_is_due_at_once_and_again_while_it_lasts() -> None:
    servers = Servers()
    servers.refuse(FIRST, 20.0)
    servers.refuse(SECOND, 14.0)
    (trouble,) = servers.troubles.due()
    assert (trouble.message, trouble.failed, trouble.waiting, trouble.next_try_s) == ("HTTP 429: slow down", 2, 2, 14.0)
    servers.now = REPEATED_AFTER_S - 1
    assert servers.troubles.due() == []
    servers.now = REPEATED_AFTER_S
    assert len(servers.troubles.due()) == 1


def test_an_answer_ends_the_trouble_and_a_new_one_is_not_repeated_sooner() -> None:
    servers = Servers()
    servers.refuse(FIRST, 1.0)
    assert servers.troubles.due()
    servers.hear(FIRST, CallPhase.CALLING, limit_s=300.0)
    servers.hear(FIRST, CallPhase.ANSWERED, "stop")
    assert servers.troubles.current() == ()
    servers.now = 5.0
    servers.refuse(FIRST, 1.0)
    assert servers.troubles.due() == []
    assert len(servers.troubles.current()) == 1


def test_the_last_failure_of_a_request_is_left_to_its_end() -> None:
    servers = Servers()
    servers.hear(FIRST, CallPhase.FAILED, "auth", message="HTTP 401", again_in_s=None, tries=(1, 5))
    assert servers.troubles.due() == []


def test_what_is_asked_again_at_once_and_changed_is_no_trouble() -> None:
    servers = Servers()
    servers.hear(FIRST, CallPhase.FAILED, "bad_request", message="HTTP 400", again_in_s=0.0)
    assert servers.troubles.current() == ()


def test_another_kind_of_trouble_is_due_at_once() -> None:
    servers = Servers()
    servers.refuse(FIRST, 20.0)
    assert [trouble.reason for trouble in servers.troubles.due()] == ["rate_limited"]
    servers.now = 1.0
    servers.hear(SECOND, CallPhase.FAILED, "server_error", message="HTTP 500", again_in_s=1.0, tries=(1, 5))
    assert [trouble.reason for trouble in servers.troubles.due()] == ["server_error"]
    servers.now = 2.0
    servers.refuse(FIRST, 20.0)
    assert servers.troubles.due() == []


def test_a_silence_is_shown_and_reported_when_it_is_longer_than_usual() -> None:
    servers = Servers()
    servers.hear(FIRST, CallPhase.CALLING, limit_s=300.0)
    servers.now = 4.0
    assert servers.troubles.current() == ()
    assert servers.troubles.due() == []
    servers.now = 6.0
    silent = ServerTrouble(model="m", reason="silent", message="no answer", waiting=1, silent_s=6.0, gives_up_s=300.0)
    assert servers.troubles.current() == (silent,)
    assert servers.troubles.due() == [silent]
    assert servers.troubles.gives_up_in_s() == 294.0
    servers.now = 35.0
    assert servers.troubles.due() == []
    servers.now = 100.0
    assert len(servers.troubles.due()) == 1
    servers.hear(FIRST, CallPhase.ANSWERED, "stop")
    servers.now = 200.0
    servers.hear(FIRST, CallPhase.CALLING, limit_s=300.0)
    servers.now = 300.0  # the last answer took as long
    assert servers.troubles.due() == []
    assert servers.troubles.current() == ()
    servers.now = 400.0
    assert len(servers.troubles.due()) == 1
    servers.troubles.ended(FIRST)
    assert servers.troubles.current() == ()
