"""A model client without a network: it moves a constant. `models: [{model: any, client: "my_llm:Echo", api_key_env: null}]`"""

from evolve.core.completion import CallEvent, CallPhase, Completion, PatchKey

ANSWER = """<NAME>echo</NAME><DESCRIPTION>{key}</DESCRIPTION><DIFF>
<<<<<<< SEARCH
# next
=======
OFFSET -= {step}
# next
>>>>>>> REPLACE
</DIFF>"""


class Echo:
    def __init__(self, settings):
        self.name = settings.shown_name

    def estimate_usd(self, tokens_in):
        return 0.0

    def complete(self, messages, *, key, observe):
        observe(CallEvent(call=0, phase=CallPhase.CALLING, status="calling"))
        number = key.generation if isinstance(key, PatchKey) else key.round
        observe(CallEvent(call=0, phase=CallPhase.ANSWERED, status="stop"))
        return Completion(text=ANSWER.format(key=key, step=1 + number / 100))
