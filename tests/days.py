"""A whole day on the small shop: every stage, from the candidates to the report."""

from typing import Any

from checks.gate import Gate
from tasks.check import check_date
from tasks.decide import decide_chunk
from tasks.generate import generate_chunk
from tasks.load import load_date
from tasks.report import Summary, report_date
from tasks.runs import Run
from tests.shop import good_answer, prepare, record

SCRIPT = "<script>alert('두부')</script>"


def judged_day(run: Run, answer: Any = good_answer) -> Gate:
    chunks = prepare(run)
    record(run, answer)
    for chunk in range(chunks):
        decide_chunk(run, chunk)
        generate_chunk(run, chunk)
    return check_date(run)


def whole_day(run: Run, answer: Any = good_answer) -> Summary:
    gate = judged_day(run, answer)
    return report_date(run, gate, load_date(run))


def mixed_answer(row: dict[str, Any]) -> tuple[float, str]:
    """A skip for the detergent, a text that is not in 해요체 for 된장, a good text for the rest."""
    p_skip, text = good_answer(row)
    return p_skip, text.replace("드셔 보세요", "드십시오") if "된장" in row["recommended_item"] else text
