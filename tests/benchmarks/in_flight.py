"""64 requests in flight, two seconds each. Usage: python -m tests.benchmarks.in_flight [ROUNDS]

The server runs in this process too, so the figure is a lower bound.
"""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from evolve.completion import Message, ModelSettings, patch_key
from evolve.propose.openai_llm import OpenAILLM
from tests.openai_server import OpenAIServer, answer

IN_FLIGHT, SECONDS = 64, 2.0


def slow(request: object) -> object:
    time.sleep(SECONDS)
    return answer("a patch")


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with OpenAIServer([], default=slow) as server:
        settings = ModelSettings(name="m", model="m", base_url=server.url, api_key_env=None)
        llm = OpenAILLM(settings, stopping=threading.Event())
        ask = [Message(role="user", content="improve this " * 500)]
        llm.complete(ask, key=patch_key(0, 0), observe=lambda event: None)
        began = time.monotonic()
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            keys = [patch_key(number, 0) for number in range(rounds * IN_FLIGHT)]
            list(pool.map(lambda key: llm.complete(ask, key=key, observe=lambda event: None), keys))
        took = time.monotonic() - began
    print(f"{rounds * IN_FLIGHT} requests in {took:.2f} s: {100 * rounds * SECONDS / took:.1f} % of the ideal")


main()
