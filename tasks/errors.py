"""Every error that sayu raises on purpose: what went wrong, and what to do about it.

`SayuError.exit_code` is what the command line ends with: 1 the work failed, 2 it was asked for wrongly.
"""


class SayuError(Exception):
    """Something the user can mend. `what` names the thing, `todo` the way out."""

    exit_code = 1

    def __init__(self, what: str, todo: str) -> None:
        super().__init__(what, todo)
        self.what = what
        self.todo = todo

    def __str__(self) -> str:
        return f"{self.what} → {self.todo}"


class UsageError(SayuError):
    """A date that is no date, a setting that does not exist or does not fit."""

    exit_code = 2


class SourceError(SayuError):
    """The source can't be read, or does not hold what the contract asks for."""


class PromptError(SayuError):
    """The prompt's files and the model's tokenizer don't go together."""


class RulesError(SayuError):
    """The rules file can't be read, or a rule in it can't be applied."""


class ModelError(SayuError):
    """The model folder can't be used."""


class EngineError(SayuError):
    """The engine can't be started, or broke as a whole."""


class StoreError(SayuError):
    """The store or the serving file can't be written."""


class BusyError(SayuError):
    """Another run works on the same date."""


class PublicationError(SayuError):
    """A date can't be published or rolled back."""
