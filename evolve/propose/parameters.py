"""What is sent: the parameters that a model's settings ask for, and the request that they make. Pure."""

import random
from collections.abc import Sequence
from typing import Any

from evolve.completion import Message
from evolve.config import ModelConfig
from evolve.propose.adapting import LIMITS, Parameters

_SEVERAL = {"temperature": "temperature", "effort": "reasoning_effort"}
"""The settings that may be lists, with their fields."""


def wanted(settings: ModelConfig, *, newer_limit: bool, rng: random.Random) -> Parameters:
    """The parameters of a request as they are configured, before anything is adapted. One value is drawn where there
    are several, the temperature first. `newer_limit`: the limit is called max_completion_tokens."""
    fields = {
        "temperature": _drawn(settings.temperature, rng),
        "reasoning_effort": _drawn(settings.effort, rng),
        "top_p": settings.top_p,
        LIMITS[newer_limit]: settings.max_tokens,
    }
    found = {"api": settings.api, "stream": settings.stream} | fields
    return {name: value for name, value in found.items() if value is not None} | dict(settings.extra_body)


def sampled(settings: ModelConfig, sent: Parameters) -> dict[str, float | str]:
    """What was drawn for a request, by the name of the setting, as it is sent."""
    several = [name for name in _SEVERAL if isinstance(getattr(settings, name), list | tuple)]
    return {name: sent[_SEVERAL[name]] for name in several if _SEVERAL[name] in sent}


def request(messages: Sequence[Message], sent: Parameters) -> tuple[dict[str, Any], dict[str, Any]]:
    """The conversation, under the name that it has at the API that is asked, and all other fields but the model. The
    parameters have their names in chat completions; the Responses API calls some otherwise."""
    turns = [{"role": message.role, "content": message.content} for message in messages]
    fields = {name: value for name, value in sent.items() if name not in ("api", "stream")}
    fields |= {"stream": True} if sent["stream"] else {}
    if sent["api"] == "chat":
        return {"messages": turns}, fields
    fields.pop("stream_options", None)
    for limit in LIMITS:
        if limit in fields:
            fields["max_output_tokens"] = fields.pop(limit)
    if "reasoning_effort" in fields:
        own = fields.get("reasoning")
        fields["reasoning"] = (own if isinstance(own, dict) else {}) | {"effort": fields.pop("reasoning_effort")}
    return {"input": turns}, fields


def _drawn(value: Any, rng: random.Random) -> Any:
    return rng.choice(value) if isinstance(value, list | tuple) else value
