"""A picture of a placement: the memory of every GPU below, stacked by model, and the KV-cache pressure it has above."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from evaluator.tasks.placement.recipes import GPU_MEM_SIZE

_WIDTH, _MARGIN, _WIDEST = 760, 30, 60
_PRESSURE, _MEMORY, _GAP = 120, 240, 30
_SHADES = ("#c6dbef", "#9ecae1", "#6baed6", "#3182bd")
"""Of the models by their load: in quarters of the largest load, lightest first."""
_BAR, _BOTTLENECK, _INK = "#b0b0b0", "#d62728", "#222"


def picture(instance: Mapping[str, Any], answer: Sequence[tuple[int, Sequence[int]]]) -> str:
    """An SVG of a placement that the judge accepts. Blocks are one path for each shade: a large cluster stays small."""
    models, gpu_num = instance["models"], instance["gpu_num"]
    placed = {gpu: sorted(indexes, key=lambda index: -_load(models[index])) for gpu, indexes in answer}
    pressures = [_pressure([models[index] for index in placed.get(gpu, ())]) for gpu in range(gpu_num)]
    highest = max(pressures)
    worst = pressures.index(highest)
    pitch = min(_WIDEST, _WIDTH / gpu_num)
    floor = _MARGIN + _PRESSURE + _GAP + _MEMORY
    heights = [_scaled(pressure, highest, _PRESSURE) for pressure in pressures]
    raised = [_bar(gpu, pitch, _MARGIN + _PRESSURE, height) for gpu, height in enumerate(heights)]
    bars = [_path(_BAR, raised[:worst] + raised[worst + 1 :]), _path(_BOTTLENECK, raised[worst : worst + 1])]
    total, top = _MARGIN * 2 + pitch * gpu_num, _MARGIN + _PRESSURE + _GAP
    label = f"GPU {worst}: pressure {float(highest):.4g}, the largest"
    anchor = "start" if worst < gpu_num / 2 else "end"
    x = _MARGIN + pitch * (worst if anchor == "start" else worst + 1)
    width, height = max(total, 420), floor + _MARGIN
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-size="13" '
            f'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>',
            *bars,
            f'<rect x="{_MARGIN}" y="{top}" width="{total - 2 * _MARGIN:.1f}" height="{_MEMORY}" fill="#f0f0f0"/>',
            f'<g stroke="white" stroke-width="{min(1, pitch / 12):.2f}">',
            *_blocks(models, placed, pitch, floor),
            "</g>",
            f'<path d="{_bar(worst, pitch, floor, _MEMORY)}" fill="none" stroke="{_BOTTLENECK}" stroke-width="2"/>',
            f'<g fill="{_INK}"><text x="{x:.1f}" y="{_MARGIN - 8}" text-anchor="{anchor}">{label}</text>',
            f'<text x="{_MARGIN}" y="{top - 9}">{gpu_num} GPUs of {GPU_MEM_SIZE} GB: blocks are models, '
            f"darker with more load; what is free is KV cache</text></g></svg>",
        ]
    )


def _load(model: Sequence[int]) -> Fraction:
    _, rate, slo = model
    return Fraction(rate, slo)


def _pressure(models: Sequence[Sequence[int]]) -> Fraction:
    return sum(map(_load, models), Fraction(0)) / (GPU_MEM_SIZE - sum(size for size, _, _ in models))


def _scaled(part: Fraction, whole: Fraction, length: int) -> float:
    return float(part / whole * length) if whole else 0.0


def _blocks(
    models: Sequence[Sequence[int]], placed: Mapping[int, Sequence[int]], pitch: float, floor: int
) -> Iterator[str]:
    """For each shade the path of its models: on every GPU the model with the most load stands lowest."""
    most = max(map(_load, models), default=Fraction(0))
    shaded: dict[str, list[str]] = {shade: [] for shade in _SHADES}
    for gpu, indexes in placed.items():
        used = 0
        for index in indexes:
            size = models[index][0]
            share = _load(models[index]) / most if most else Fraction(0)
            shade = _SHADES[min(len(_SHADES) - 1, int(share * len(_SHADES)))]
            bottom = floor - used * _MEMORY / GPU_MEM_SIZE
            shaded[shade].append(_bar(gpu, pitch, bottom, size * _MEMORY / GPU_MEM_SIZE))
            used += size
    return (_path(shade, parts) for shade, parts in shaded.items() if parts)


def _bar(gpu: int, pitch: float, bottom: float, height: float) -> str:
    """The outline of a bar that stands on `bottom`, in the column of a GPU."""
    wide = pitch * 0.8
    left = _MARGIN + pitch * gpu + pitch * 0.1
    return f"M{left:.4g} {bottom:.4g}h{wide:.3g}v{-height:.4g}h{-wide:.3g}z"


def _path(colour: str, parts: Sequence[str]) -> str:
    return f'<path fill="{colour}" d="{"".join(parts)}"/>'
