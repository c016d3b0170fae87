"""Our own rows: `records.example_to_record`. The one format that holds everything an example can hold."""

from __future__ import annotations

from prmkit.data.records import example_from_record, example_to_record
from prmkit.data.sources.common import Format, has

FORMAT = Format(example_from_record, example_to_record, has("trajectory", "labels"))
