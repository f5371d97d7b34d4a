"""A strategy: it always improves the newest program. `evolve run --set search.strategy=my_search:Newest`"""

from evolve.core.program import PatchKind
from evolve.proposal import Choice


class Newest:
    def __init__(self, settings):
        self.model = next(name for name, share in settings.shares.items() if share)
        self.programs = []

    def choose(self, generation):
        newest = self.programs[-1]
        return Choice(kind=PatchKind.DIFF, island=0, parent=newest, inspirations=(), model=self.model)

    def ended(self, ended):
        if ended.program and not ended.program.quarantine:
            self.programs.append(ended.program)

    def confirmed(self, record):  # a program that is not correct after all is withdrawn
        if not record.correct:
            self.programs = [program for program in self.programs if program.commit != record.commit]
