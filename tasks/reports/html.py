"""Templates to pages. Everything that is put into a page is escaped, save for the charts' SVG."""

from typing import Any

import jinja2

from checks.gate import Check
from tasks.reports.words import Language, meaning, words


def render(template: str, language: Language, **values: Any) -> str:
    """A page of `templates/`, in one language.

    Raises:
        jinja2.UndefinedError: the template asks for something that is not given.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tasks.reports", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = "{:,}".format
    environment.filters["percent"] = percent
    environment.globals |= {
        "w": words(language),
        "language": language,
        "meaning": lambda code: meaning(code, language),
        "said": lambda check: said(check, language),
    }
    return environment.get_template(template).render(**values)


def said(check: Check, language: Language) -> tuple[str, str]:
    """What a check asks for and what it saw, in the language, or in English where nobody wrote it."""
    if language == "ko":
        return check.description_ko or check.description, check.observed_ko or check.observed
    return check.description, check.observed


def percent(share: float | None, digits: int = 1) -> str:
    """A share (0 to 1) as a reader sees it; a dash where there is none."""
    return "–" if share is None else f"{share:.{digits}%}"
