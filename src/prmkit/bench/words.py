"""A verdict in words and rows of text, for a terminal and for `docs/claims.md`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from prmkit.bench.run import Verdict

HEADER = ("condition", "metric", "arms", "per seed", "compared", "wanted", "verdict")
Record = Mapping[str, Any]  # what `Verdict.as_json` gives


def table(verdict: Verdict) -> list[tuple[str, ...]]:
    """One row of text for every comparison, its cells as in `HEADER`."""
    return _rows(verdict.as_json())


def sentences(verdict: Verdict) -> list[str]:
    """The verdict first, then what came of the conditions in which the claim should fail."""
    return _sentences(verdict.as_json())


def as_markdown(records: Iterable[Record]) -> str:
    """The page of measured claims, each with the command that measures it again."""
    blocks = [
        "# Claims",
        "<!-- Made by `python -m prmkit.bench.words FILE…` from what `prm claim NAME --json` printed. -->",
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
    why = f": {record['reason']}" if record["reason"] else ""
    return [
        f"{record['name']} {_verb(record['verdict'])}{why}.",
        *(
            f"Expected to fail at {result['condition']} ({result['should_fail']}): {_came(result)}."
            for result in record["results"]
            if result["should_fail"]
        ),
    ]


def _came(result: Record) -> str:
    figures = ", ".join(
        f"{ask['form']} in {ask['metric']} {_shown(ask['interval'])}" for row in result["asks"] for ask in row
    )
    outcome = {True: "it fails, as expected", False: "it holds, against expectation", None: "undecided"}
    reason = f" ({result['reason']})" if result["reason"] else ""
    return f"{figures}; {outcome[result['as_expected']]}{reason}"


def _verb(ruling: str) -> str:
    return "is undecided" if ruling == "undecided" else ruling


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
        _bounds(ask["wanted"]),
        verdict,
    )


def _bounds(wanted: Record) -> str:
    low, high = wanted["at_least"], wanted["at_most"]
    return " and ".join(f"{sign} {x:g}" for sign, x in (("≥", low), ("≤", high)) if x is not None)


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
