"""The page of measured claims, `docs/claims.md`, from what `prm claim NAME --json` printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from prmkit.bench.compare import bounds

HEADER = ("condition", "metric", "arms", "per seed", "compared", "wanted", "verdict")
Record = Mapping[str, Any]  # what `Verdict.as_json` gives


def as_markdown(records: Iterable[Record]) -> str:
    """The page of measured claims, each with the command that measures it again."""
    blocks = [
        "# Claims",
        "<!-- Made by `python -m prmkit.bench.page FILE…` from what `prm claim NAME --json` printed. -->",
        "Each claim is a published method's promise in miniature: a world whose truth is known, two arms "
        "that spend the same, a margin, and where it should fail. `holds`: the whole 95 % interval (over "
        "problems and over seeds, whichever is wider) meets the margin; `fails`: none of it does; "
        "`undecided`: the margin lies within. What does not hold is here too.",
        *map(_section, records),
    ]
    return "\n\n".join(blocks) + "\n"


def _section(record: Record) -> str:
    lines = [_line(HEADER), _line("---" for _ in HEADER), *map(_line, _rows(record))]
    return "\n\n".join(
        [
            f"## {record['name']} (card {record['card']}): {record['verdict']}",
            record["statement"],
            f"World: {record['world']}. Equal {record['budget']} for both arms.",
            f"    prm claim {record['name']} --seeds {record['seeds']}",
            "\n".join(f"- {sentence}" for sentence in _sentences(record)),
            "\n".join(lines),
        ]
    )


def _sentences(record: Record) -> list[str]:
    """The verdict on every condition, those in which the claim should fail by that name."""
    return [
        f"Expected to fail at {r['condition']} ({r['should_fail']}): {_came(r)}."
        if r["should_fail"]
        else f"At {r['condition']}: {_came(r)}."
        for r in record["results"]
    ]


def _came(result: Record) -> str:
    told = ", ".join(" or ".join(map(_change, row)) for row in result["asks"])
    return f"{told}; {_outcome(result)}"


def _change(ask: Record) -> str:
    return f"{ask['form']} in {ask['metric']} {_shown(ask['interval'])}"


def _outcome(result: Record) -> str:
    if result["verdict"] == "undecided":
        return f"undecided, {result['reason']}"
    if not result["should_fail"]:
        return f"it {result['verdict']}"
    return f"it {result['verdict']}, {'as expected' if result['as_expected'] else 'against expectation'}"


def _rows(record: Record) -> list[tuple[str, ...]]:
    rows = []
    for result in record["results"]:
        name = result["condition"] + (" (should fail)" if result["should_fail"] else "")
        for row in result["asks"]:
            for at, ask in enumerate(row):
                rows.append(_row(name, ("or " if at else "") + ask["metric"], ask, ask["verdict"]))
        rows += [_row(name, ask["metric"], ask, "") for ask in result["also"]]
        spent = ", ".join(f"{arm} {sum(each):g}" for arm, each in result["spent"].items())
        rows.append((name, f"spent: {record['budget']}", spent, "", "", "equal", result["verdict"]))
    return rows


def _row(condition: str, metric: str, ask: Record, verdict: str) -> tuple[str, ...]:
    arms = [ask["treatment"], ask["control"]]
    return (
        condition,
        metric,
        f"{arms[0]['arm']} against {arms[1]['arm']}",
        " | ".join(" ".join("–" if x is None else f"{x:.3g}" for x in arm["seeds"]) for arm in arms),
        f"{ask['form']} {_shown(ask['interval'])}",
        bounds(**ask["wanted"]),
        verdict,
    )


def _shown(interval: Record | None) -> str:
    if interval is None:
        return "not defined"
    return f"{interval['mean']:.3f} [{interval['low']:.3f}, {interval['high']:.3f}]"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main(files: Sequence[str]) -> None:
    """Print the page made of the JSON files that `prm claim NAME --json` wrote."""
    print(as_markdown(json.loads(Path(file).read_text("utf-8")) for file in files), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
