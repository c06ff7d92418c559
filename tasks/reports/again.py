"""What is said of texts that were asked for again, by the report and the command line alike."""

from collections.abc import Iterator

from tasks.attempts import Attempts
from tasks.reports.words import Language, words


def asked_again(attempts: Attempts | None, language: Language) -> Iterator[str]:
    """Sentences: how many texts failed at first, what became of them, and what it took. None if none failed."""
    if attempts is None or not attempts.failed:
        return
    w = words(language)
    mended = [w["again_mended"].format(texts=f"{texts:,}", attempt=which) for which, texts in attempts.mended.items()]
    became = ", ".join([*mended, w["again_failing"].format(texts=f"{attempts.failing:,}")])
    yield w["again_failed"].format(texts=f"{attempts.failed:,}", became=became)
    numbers = {name: f"{getattr(attempts, name):,}" for name in ("calls", "computed", "cached", "generated")}
    yield w["again_took"].format(share=attempts.engine_share, **numbers)
    yield from budget_spent(attempts, language)


def budget_spent(attempts: Attempts | None, language: Language) -> Iterator[str]:
    """A sentence, where the engine's budget was spent before every failed text had all its attempts."""
    if attempts and attempts.budget_spent and attempts.unasked:
        numbers = {"minutes": attempts.budget_minutes, "texts": f"{attempts.unasked:,}", "most": attempts.most}
        yield words(language)["look_budget"].format(**numbers)
