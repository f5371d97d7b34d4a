"""A strategy of one's own: it always improves the newest program. `evolve run --set search.strategy=my_search:Newest`"""

from evolve.program import PatchKind
from evolve.proposal import Choice


class Newest:
    def __init__(self, settings):
        self.model, self.parent = next(name for name, share in settings.shares.items() if share), None
    def choose(self, generation):
        return Choice(kind=PatchKind.DIFF, island=0, parent=self.parent, inspirations=(), model=self.model)
    def ended(self, ended):
        self.parent = ended.program if ended.program and not ended.program.quarantine else self.parent
    def restore(self, history):
        for ended in history:
            self.ended(ended)
