"""The pages in a real browser (Chromium, headless): they load without a console error and fit a telephone.

Each page is shown in a frame of a page of our own, whose script says how wide the frame's content is.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from checks.gate import Check, Gate, Severity, judge
from tasks.report import report_date
from tasks.runs import Run
from tests.days import SCRIPT, judged_day, mixed_answer
from tests.shop import ITEMS, PAIRS, make_run, make_source

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]

QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--enable-logging=stderr",
)  # fmt: skip
MEASURE = """
<!doctype html><title></title>{frames}<script>
addEventListener("load", () => {{
  const roots = [...document.querySelectorAll("iframe")].map((frame) => frame.contentDocument.documentElement);
  document.title = JSON.stringify(roots.map((root) => [root.scrollWidth - root.clientWidth, root.innerText.length]));
}});
</script>
"""


def console_and_dom(page: Path, profile: Path) -> tuple[list[str], str]:
    """What the browser's console says while a page loads, and the page as it is then."""
    # The page of our own reads what is in its frames: files from one another, which a browser else forbids.
    command = [str(CHROMIUM), *QUIET, f"--user-data-dir={profile}", "--allow-file-access-from-files"]
    done = subprocess.run(
        [*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line], done.stdout


def show(pages: list[Path], width: int, folder: Path) -> tuple[list[str], list[list[int]]]:
    """The console's lines, and for each page by how many pixels it is wider than its frame, and its letters."""
    frames = "".join(f'<iframe src="{page.as_uri()}" width="{width}" height="900"></iframe>' for page in pages)
    (folder / "frames.html").write_text(MEASURE.format(frames=frames), encoding="utf-8")
    lines, dom = console_and_dom(folder / "frames.html", folder / "profile")
    title = re.search(r"<title>(.*?)</title>", dom)
    assert title
    return lines, json.loads(title[1])


@pytest.fixture
def pages(tmp_path: Path) -> list[Path]:
    """The index, the report and the rows of a held-back date whose names are long or hold a script."""
    items = [*ITEMS, (7, SCRIPT, "<b>두부</b>"), (8, "가" * 120, "x" * 90)]
    pairs = [*PAIRS, (7, 2, 0.3), (2, 7, 0.2), (8, 2, 0.4), (3, 8, 0.35)]
    run: Run = make_run(tmp_path, make_source(tmp_path / "s.duckdb", items=items, pairs=pairs))
    gate: Gate = judged_day(run, mixed_answer)
    failed = Check(name="c" * 40, description="d" * 200, severity=Severity.CRITICAL, passed=False, observed=SCRIPT)
    held_back = judge([*gate.checks, failed])
    run.write_json("checks", held_back.model_dump(mode="json"))
    report_date(run, held_back, None)
    return [
        run.settings.store / "index.html",
        run.folder / "report.html",
        *sorted((run.folder / "rows").glob("*.html")),
    ]


@pytest.mark.parametrize("width", [400, 1280])
def test_pages_load_without_a_console_error_and_are_not_wider_than_the_window(
    pages: list[Path], width: int, tmp_path: Path
) -> None:
    console, measured = show(pages, width, tmp_path)
    assert console == []
    assert [wider for wider, _ in measured] == [0] * len(pages)
    assert all(letters > 100 for _, letters in measured)


def test_this_test_sees_a_console_error_and_a_page_that_is_too_wide(tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    policy = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">'
    bad.write_text(f"{policy}<pre>{'x' * 5000}</pre><script>alert(1)</script>", encoding="utf-8")
    console, measured = show([bad], 400, tmp_path)
    assert any("Content Security Policy" in line for line in console)
    assert measured[0][0] > 1000
