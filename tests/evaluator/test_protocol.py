"""The reader of replies: whatever arrives, a reply or its own error, and never more than the cap."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.sandbox import protocol
from evaluator.sandbox.protocol import FRAME_CAP, Fault, ProtocolError, Response

NONCE = "00ff00ff00ff00ff"

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(plain)
def test_an_answer_that_was_written_is_read_back(value: object) -> None:
    payload = protocol.payload_of(protocol.answer(NONCE, value))
    assert payload is not None
    assert protocol.reply_of(payload, NONCE) == Response(answer=value)


@given(
    st.sampled_from(sorted(protocol.KINDS)),
    st.text(),
    st.text(),
    st.lists(st.tuples(st.integers(0, 10**6), st.text(max_size=50)), max_size=20),
)
def test_an_error_that_was_written_is_read_back(
    kind: str, name: str, message: str, lines: list[tuple[int, str]]
) -> None:
    payload = protocol.payload_of(protocol.error(NONCE, kind, name, message, lines))
    assert payload is not None
    fault = Fault(kind=kind, type=name[:200], message=message[: protocol.MESSAGE_LIMIT], lines=tuple(lines))
    assert protocol.reply_of(payload, NONCE) == Response(fault=fault)


@given(st.text(alphabet=st.characters(codec=None), min_size=1).map(lambda text: text * 3000))
def test_the_longest_error_fits_in_a_frame(text: str) -> None:
    frame = protocol.error(NONCE, "call", text, text, [(10**6, text)] * 100)
    assert len(frame) <= FRAME_CAP + protocol.HEADER


@given(st.binary())
@example(b"\xff\xff\xff\xff")
@example(b"\x00\x00\x00\x02{}")
def test_arbitrary_bytes_are_a_reply_incomplete_or_refused(received: bytes) -> None:
    try:
        payload = protocol.payload_of(received)
        if payload is not None:
            protocol.reply_of(payload, NONCE)
    except ProtocolError:
        return
    assert payload is None or received[4:] == payload


HOSTILE = [
    b"[" * 60_000,
    b'{"a":' * 10_000,
    b"[" * 33 + b"]" * 33,
    b'{"nonce":"00ff00ff00ff00ff","answer":NaN}',
    b'{"nonce":"00ff00ff00ff00ff","answer":-Infinity}',
    b'{"nonce":"00ff00ff00ff00ff","answer":1e999}',
    b'{"nonce":"00ff00ff00ff00ff","answer":[' + b"9" * 60_000 + b"]}",
    b'{"nonce":"00ff00ff00ff00ff","answer":0.' + b"1" * 33 + b"}",
    b'{"nonce":"00ff00ff00ff00ff","answer":1,"answer":2}',
    b'{"nonce":"00ff00ff00ff00ff","answer":{"a":1,"a":1}}',
    b'{"nonce":"00ff00ff00ff00ff"}',
    b'{"nonce":"00ff00ff00ff00ff","answer":1,"score":9}',
    b'{"nonce":"ffffffffffffffff","answer":1}',
    b'{"nonce":null,"answer":1}',
    b'{"answer":1}',
    b"\xff\xfe\x00",
    b"",
    b"null",
    b'{"nonce":"00ff00ff00ff00ff","answer":1} {}',
    b'{"nonce":"00ff00ff00ff00ff","error":{}}',
    b'{"nonce":"00ff00ff00ff00ff","error":{"kind":["call"],"type":"","message":"","lines":[]}}',
    b'{"nonce":"00ff00ff00ff00ff","error":{"kind":"mine","type":"","message":"","lines":[]}}',
    b'{"nonce":"00ff00ff00ff00ff","error":{"kind":"call","type":"","message":"","lines":[[true,"f"]]}}',
    b'{"nonce":"00ff00ff00ff00ff","error":{"kind":"call","type":"","message":"","lines":[1]}}',
]


@pytest.mark.parametrize("payload", HOSTILE, ids=range(len(HOSTILE)))
def test_what_a_careful_writer_would_not_have_written_is_refused(payload: bytes) -> None:
    with pytest.raises(ProtocolError):
        protocol.reply_of(payload, NONCE)


@given(st.binary(max_size=200), st.binary(min_size=1, max_size=20))
def test_bytes_after_a_reply_are_refused(payload: bytes, more: bytes) -> None:
    with pytest.raises(ProtocolError, match="follow"):
        protocol.payload_of(protocol.framed(payload) + more)


def test_a_frame_over_the_cap_is_refused_by_its_header_alone() -> None:
    assert protocol.payload_of(FRAME_CAP.to_bytes(4, "big")) is None
    with pytest.raises(ProtocolError, match="over the limit of 65536 bytes"):
        protocol.payload_of((FRAME_CAP + 1).to_bytes(4, "big"))


@given(plain.filter(lambda value: value is not None), st.text(alphabet=st.characters(codec=None)))
def test_requests_are_json_whatever_they_carry(data: object, source: str) -> None:
    for fields, key, value in (
        (protocol.instance_fields(7, data), "instance", data),
        (protocol.load_fields(7, source), "source", source),
    ):
        frame = protocol.request(NONCE, fields)
        assert int.from_bytes(frame[:4], "big") == len(frame) - 4
        assert json.loads(frame[4:]) == {"nonce": NONCE, "seed": 7, key: value}
