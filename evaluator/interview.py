"""Putting a conversation to a candidate, in lock-step: the next item is made, and sent, only after the last answer.

Three things hold for each item: its request carries a nonce of its own, drawn when it is sent, so that no reply can be
written before it; nothing but the one reply may stand in the channel; and at the end the candidate is asked to say so,
which brings to light what it wrote beyond its replies.
"""

import json
from typing import Final

from evaluator.conversation import Conversation
from evaluator.evaluation import Outcome
from evaluator.sandbox import protocol
from evaluator.sandbox.exchange import Exchange
from evaluator.sandbox.supervisor import Candidate
from evaluator.seeding import seed_of

MOST_ANSWERED: Final = 16 * 1024 * 1024
"""The most bytes of answers to one instance: what a harness keeps of them has to fit in its memory."""


def interview(
    candidate: Candidate, conversation: Conversation, *, per_item_s: float | None, seeded_by: Conversation | None = None
) -> Exchange:
    """The exchange that the whole conversation comes to: its answer is the list of all answers, its `item` the last
    that was asked; `conversation.verdict` is there when it did not fail. `random` is seeded by the first item that is
    asked, or by that of `seeded_by`. Raises TaskError."""
    candidate.begin(per_item_s)
    exchange = Exchange(None)
    size = 0
    try:
        asked = conversation.after(None)
        while asked is not None:
            if conversation.answers:
                fields = protocol.next_fields(asked)
            else:
                fields = protocol.first_fields(seed_of(json.loads(_first(seeded_by) or asked)), asked)
            exchange = candidate.put(fields)
            if exchange.failure is not None:
                break
            size += exchange.size
            if size > MOST_ANSWERED:
                candidate.end()
                exchange.failure = Outcome.OUTPUT_LIMIT
                exchange.detail = f"the answers to one instance are over the limit of {MOST_ANSWERED} bytes"
                break
            asked = conversation.after(exchange.answer)
        else:
            if conversation.answers:
                exchange = candidate.put(protocol.END_FIELDS)
    finally:
        conversation.close()
    candidate.finish(exchange)
    exchange.item = conversation.item if conversation.asked else None
    exchange.answer = conversation.answers if exchange.failure is None else None
    return exchange


def _first(conversation: Conversation | None) -> bytes | None:
    if conversation is None:
        return None
    try:
        return conversation.after(None)
    finally:
        conversation.close()
