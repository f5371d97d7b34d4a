"""A model client of one's own: it writes the next step. `models: [{model: any, client: "my_llm:Echo", api_key_env: null}]`"""

from evolve.core.completion import CallEvent, CallPhase, Completion, PatchKey

PATCH = "<NAME>echo</NAME><DESCRIPTION>{}</DESCRIPTION><DIFF>\n<<<<<<< SEARCH\n# next\n=======\nOFFSET -= {}\n# next\n>>>>>>> REPLACE\n</DIFF>"


class Echo:
    def __init__(self, settings):
        self.name = settings.shown_name
    def estimate_usd(self, tokens_in):
        return 0.0
    def complete(self, messages, *, key, observe):
        observe(CallEvent(call=0, phase=CallPhase.CALLING, status="calling"))
        observe(CallEvent(call=0, phase=CallPhase.ANSWERED, status="stop"))
        step = key.generation if isinstance(key, PatchKey) else key.round
        return Completion(text=PATCH.format(key, 1 + step / 100))
