"""The head reads any bytes of its broker: as a message, or as none."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.cluster.frames import (
    MOST_BYTES,
    CallEnded,
    CallOdd,
    Cancel,
    FrameError,
    FromBroker,
    SeenWorker,
    Submit,
    ToBroker,
    Workers,
    framed,
    from_broker,
    read_frame,
    to_broker,
)

texts = st.text(max_size=30)
seen = st.builds(SeenWorker, address=texts, name=texts, host=texts, silent_s=st.floats(0, 1e6))
of_broker = st.one_of(
    st.builds(Workers, workers=st.lists(seen, max_size=3).map(tuple)),
    st.builds(CallEnded, call=st.integers(0, 99), ok=st.booleans(), text=texts),
    st.builds(CallOdd, call=st.integers(0, 99), why=texts),
)
of_head = st.one_of(
    st.builds(Submit, call=st.integers(0, 99), address=texts, function=texts, text=texts),
    st.builds(Cancel, call=st.integers(0, 99)),
)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["kind", "call", "ok", "text", "workers"]), inner),
    max_leaves=8,
)


@given(message=of_broker)
def test_a_message_of_the_broker_arrives(message: FromBroker) -> None:
    payload = read_frame(io.BytesIO(framed(message)))
    assert payload is not None
    assert from_broker(payload) == message


@given(message=of_head)
def test_a_message_of_the_head_arrives(message: ToBroker) -> None:
    payload = read_frame(io.BytesIO(framed(message)))
    assert payload is not None
    assert to_broker(payload) == message


@given(payload=st.binary(max_size=60) | documents.map(lambda document: json.dumps(document).encode()))
def test_any_payload_is_a_message_or_refused(payload: bytes) -> None:
    try:
        from_broker(payload)
    except FrameError:
        return


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "submit", "call": 1, "address": "a", "function": "f", "text": ""},
        {"kind": "ended", "call": None, "ok": True, "text": ""},
        {"kind": "workers", "workers": [{"address": "a"}]},
        {"kind": "ended", "call": 1, "ok": True},
    ],
)
def test_a_message_of_another_shape_is_refused(document: Any) -> None:
    with pytest.raises(FrameError):
        from_broker(json.dumps(document).encode())


def test_a_message_that_is_too_long_is_not_read() -> None:
    with pytest.raises(FrameError, match="at most"):
        read_frame(io.BytesIO((MOST_BYTES + 1).to_bytes(4, "big") + b"x"))


def test_a_stream_that_breaks_off_has_ended() -> None:
    assert read_frame(io.BytesIO(b"\0\0")) is None
    assert read_frame(io.BytesIO(b"\0\0\0\5ab")) is None
