"""Great Expectations' own pages (Data Docs) of the last runs, built from what the suites found.

`keep_result` stores a suite's result, `build_data_docs` makes the pages that are missing, takes away what is older than
the last runs, and writes the index. The pages load their styles from the net: offline they are readable, and plain.

    FOLDER/results/SUITE/RUN/TIME/date.json          FOLDER/site/index.html, FOLDER/site/validations/SUITE/RUN/TIME/…
"""

import datetime as dt
from pathlib import Path
from typing import Any

from filelock import FileLock

from checks.validation import Validation, quiet_context

LAST_RUNS = 30  # a month; every page costs a fifth of a second once, and the index grows with them


def keep_result(folder: Path, validation: Validation, run_name: str, run_time: dt.datetime) -> None:
    """Store a suite's result under its run, for `build_data_docs`. The same run again replaces what it left.

    Args:
        folder: where Data Docs live; `run_name`: what the pages call the run, such as 2026-11-28-63ae0a92f0eb.
        run_time: when the run began, with a time zone; all suites of one run give the same.
    """
    from great_expectations.core.run_identifier import RunIdentifier
    from great_expectations.data_context.types.resource_identifiers import (
        ExpectationSuiteIdentifier,
        ValidationResultIdentifier,
    )

    run = RunIdentifier(run_name=run_name, run_time=run_time)
    key = ValidationResultIdentifier(ExpectationSuiteIdentifier(validation.suite), run, "date")
    validation.result.meta["run_id"] = run
    with _lock(folder):
        _context(folder).validation_results_store.set(key, validation.result)
        _page(folder, key).unlink(missing_ok=True)


def build_data_docs(folder: Path, last_runs: int = LAST_RUNS) -> Path:
    """Bring the pages up to date with the stored results of the last runs; returns the index page's path."""
    with _lock(folder):
        context = _context(folder)
        store = context.validation_results_store
        keys = sorted(store.list_keys(), key=lambda key: key.run_id.run_time, reverse=True)
        kept = list(dict.fromkeys(_run(key) for key in keys))[:last_runs]
        for key in keys:
            if _run(key) not in kept:
                store.remove_key(key)
                _page(folder, key).unlink(missing_ok=True)
        missing = [key for key in keys if _run(key) in kept and not _page(folder, key).exists()]
        if missing or not (folder / "site" / "index.html").exists():
            context.build_data_docs(resource_identifiers=missing or None)
    return folder / "site" / "index.html"


def _lock(folder: Path) -> FileLock:
    """Dates that run at once share the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return FileLock(folder / ".lock")


def _run(key: Any) -> tuple[str, dt.datetime]:
    return key.run_id.run_name, key.run_id.run_time


def _page(folder: Path, key: Any) -> Path:
    return (folder / "site" / "validations").joinpath(*key.to_tuple()).with_suffix(".html")


def _context(folder: Path) -> Any:
    """A context that keeps results and pages in the folder, and all else in memory."""
    from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults

    def files(name: str, **options: str) -> dict[str, str]:
        return {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder.resolve() / name), **options}

    stores = InMemoryStoreBackendDefaults()
    stores.stores[stores.validation_results_store_name]["store_backend"] = files("results", filepath_suffix=".json")
    stores.data_docs_sites = {
        "site": {
            "class_name": "SiteBuilder",
            "show_how_to_buttons": False,
            "store_backend": files("site"),
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        }
    }
    return quiet_context(DataContextConfig(store_backend_defaults=stores))
