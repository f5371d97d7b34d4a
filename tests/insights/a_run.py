"""A short run as facts, for the tests: gains, losses, a change without effect, failures of every sort, a fraud."""

from evaluator.evaluation import Outcome
from evolve.archive.events import Status
from evolve.core.program import Origin, PatchKind
from evolve.insights.facts import Fact

CEILING = 26.255972002468162


def source(*operators: str) -> str:
    functions = "\n\n".join(f"def {name}(packing):\n    return packing" for name in operators)
    return (
        '"""Greedy placement by current pressure."""\n\nGPU_MEM_SIZE = 80\n\n# EVOLVE-BLOCK-START\n'
        f"KICK_ITERATIONS = 100\n"
        f"SWAPS_PER_KICK = 2\n\n\n{functions}\n\n\ndef compute_model_placement(gpu_num, models):\n"
        f"    return [{', '.join(operators)}]\n# EVOLVE-BLOCK-END\n"
    )


def a_run() -> list[Fact]:
    facts: dict[int, Fact] = {}

    def program(
        generation: int,
        name: str,
        score: float,
        parent: int | None,
        *,
        kind: PatchKind = PatchKind.DIFF,
        why: str = "",
        outcome: Outcome = Outcome.OK,
        detail: str = "",
        quarantine: str | None = None,
        uses: tuple[str, ...] = (),
        changed: tuple[str, ...] = (),
    ) -> None:
        of = None if parent is None else facts[parent]
        ok = outcome is Outcome.OK
        facts[generation] = Fact(
            generation=generation,
            status=Status.EVALUATED,
            origin=Origin(kind=kind, model="offline", patch_name=name, description=why, features=changed),
            outcome=outcome,
            detail=detail,
            correct=ok and quarantine is None,
            quarantine=quarantine,
            combined_score=score,
            ceiling=CEILING,
            metrics={"success_rate": 1.0, "max_kvpr_inverse": score - 1} if ok else {"success_rate": score},
            parent_generation=parent,
            base_generation=parent,
            base_score=None if of is None else of.combined_score,
            base_correct=of is not None and of.correct,
            source=source(*uses),
            parent_source="" if of is None else of.source,
            feedback="Farthest from its bound: instance 17 at 0.0412 against 0.0391." if ok else "",
        )

    search = ("bisect_first_fit", "local_search", "move_one")
    program(0, "initial_program", 21.891587, None, kind=PatchKind.INITIAL)
    program(
        1,
        "add_greedy_shuffled_with_better_placement",
        22.338523,
        0,
        uses=("greedy_shuffled",),
        why="a second constructor can help when the better result is kept",
        changed=("add greedy_shuffled",),
    )
    program(
        2,
        "add_bisect_first_fit",
        26.233201,
        0,
        uses=("bisect_first_fit",),
        why="for a fixed pressure the constraint is linear in load and size",
        changed=("add bisect_first_fit",),
    )
    program(
        3,
        "replace_bisect_first_fit_by_bisect_best_fit",
        26.210077,
        2,
        uses=("bisect_best_fit",),
        why="replace bisect_first_fit: the tightest GPU leaves room elsewhere",
        changed=("add bisect_best_fit", "remove bisect_first_fit"),
    )
    program(
        4,
        "add_local_search_and_add_move_one",
        26.241024,
        2,
        uses=search,
        why="a greedy placement is seldom a local optimum; moving one model is the smallest change",
        changed=("add local_search", "add move_one"),
    )
    program(
        5,
        "add_iterated_local_search",
        0.0,
        2,
        outcome=Outcome.CPU_LIMIT,
        uses=("iterated_local_search",),
        detail="instance 0: more than 5 s of CPU",
        why="a kick followed by a descent leaves the local optimum",
        changed=("add iterated_local_search",),
    )
    facts[6] = Fact(
        generation=6,
        status=Status.DUPLICATE,
        origin=Origin(kind=PatchKind.DIFF, model="offline", patch_name="", description=""),
        reason="duplicate",
    )
    program(
        7,
        "add_swap_one_one",
        26.248034,
        4,
        uses=(*search, "swap_one_one"),
        why="when memory is tight no model can move, but two can trade places",
        changed=("add swap_one_one",),
    )
    program(
        8,
        "raise_kick_iterations",
        26.233201,
        2,
        kind=PatchKind.TUNE,
        uses=("bisect_first_fit",),
        why="KICK_ITERATIONS from 100 to 200",
        changed=("raise KICK_ITERATIONS",),
    )
    program(
        9,
        "add_swap_two_one_with_packing_with_exchange",
        26.240055,
        2,
        uses=("bisect_first_fit", "swap_two_one"),
        why="one large model may weigh as much as two small ones",
        changed=("add swap_two_one",),
    )
    program(
        10,
        "remove_move_one",
        26.241024,
        7,
        uses=("bisect_first_fit", "local_search", "swap_one_one"),
        changed=("remove move_one",),
    )
    program(
        11,
        "add_kick_ruin_worst",
        0.5,
        7,
        outcome=Outcome.EXCEPTION,
        uses=("kick_ruin_worst",),
        detail="Traceback (lines of the program):\n  line 9, in kick_ruin_worst: return fullest(packing)\n"
        "NameError: name 'fullest' is not defined\non instance 4 of 50",
        why="taking the fullest GPU apart frees what a step cannot",
        changed=("add kick_ruin_worst",),
    )
    program(
        12,
        "add_accept_equal",
        26.248034,
        7,
        uses=(*search, "swap_one_one", "accept_equal"),
        why="steps to an equally good packing wander over plateaus",
        changed=("add accept_equal",),
    )
    program(
        13,
        "take_fewer_models",
        38.38,
        7,
        quarantine="instance 3 beats its proven bound",
        why="an excellent leap",
        changed=("change compute_model_placement",),
    )
    facts[14] = Fact(
        generation=14,
        status=Status.REFUSED,
        origin=Origin(kind=PatchKind.CROSS, model="offline", patch_name="", description=""),
        reason="no_match",
        detail="SEARCH block 1 matches nothing",
    )
    program(
        15,
        "use_swap_one_one_again",
        26.0,
        11,
        kind=PatchKind.FIX,
        uses=("swap_one_one",),
        changed=("add swap_one_one", "remove kick_ruin_worst"),
    )
    return list(facts.values())


def best_source(facts: list[Fact]) -> str:
    return next(fact.source for fact in facts if fact.generation == 7)
