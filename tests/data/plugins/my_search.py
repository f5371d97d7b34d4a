"""A strategy of one's own: it always improves the newest program. `evolve run --set search.strategy=my_search:Newest`"""

from evolve.core.program import PatchKind
from evolve.proposal import Choice


class Newest:
    def __init__(self, settings):
        self.model, self.programs = next(name for name, share in settings.shares.items() if share), []
    def choose(self, generation):
        return Choice(kind=PatchKind.DIFF, island=0, parent=self.programs[-1], inspirations=(), model=self.model)
    def ended(self, ended):
        self.programs += [ended.program] if ended.program and not ended.program.quarantine else []
    def confirmed(self, record):  # one that is not correct after all is withdrawn
        self.programs = [known for known in self.programs if known.commit != record.commit or record.correct]
