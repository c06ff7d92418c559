"""The schemas of the frames that pass between stages, and the outcomes a candidate can have."""

from enum import StrEnum

import polars as pl

Columns = dict[str, pl.DataType | type[pl.DataType]]


class Outcome(StrEnum):
    """What became of a candidate. Every candidate has exactly one."""

    PUBLISHED = "published"
    SKIPPED = "skipped"  # the model said skip
    SCREENED = "screened"  # a rule said no before the model
    RANKED_OUT = "ranked_out"  # another reason item was worth more
    REJECTED = "rejected"  # written, but failed its checks
    FAILED = "failed"  # no answer, with the error


def _schema(columns: Columns) -> pl.Schema:
    return pl.Schema(columns)


def conform(frame: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """The frame with exactly the schema's columns, in its order and types; other columns are dropped."""
    return frame.select(schema.names()).cast(schema)


UTC_TIME = pl.Datetime("us", "UTC")

# One row a candidate pair; names as clean_name gives them, basket with the reason item first.
CANDIDATES = _schema(
    {
        "candidate_id": pl.UInt32,
        "recommended_item_id": pl.Int64,
        "reason_item_id": pl.Int64,
        "recommended_item": pl.String,
        "recommended_scate": pl.String,
        "reason_item": pl.String,
        "reason_scate": pl.String,
        "basket": pl.List(pl.String),
        "score": pl.Float64,
    }
)

# One row a name that the shop sells; one row a small category of it.
CATALOGUE = _schema({"item_name": pl.String})
CATEGORIES = _schema({"scate": pl.String})

# One row a candidate that needs no model call; `rule` is the rule's stable name.
SCREENED = _schema({"candidate_id": pl.UInt32, "rule": pl.String, "evidence": pl.String})
# One row a pair and rule that saw it: `effect` is "reject" (the pair is in SCREENED), "warn" (it goes on), or
# "let_through" (it would have been turned away, and belongs to the sample that goes on all the same).
RULE_HITS = _schema({"candidate_id": pl.UInt32, "rule": pl.String, "effect": pl.String, "evidence": pl.String})
# One row a candidate that is not worth a call: which limit left it out, its place (1 is best) among how many, and what
# it was placed by.
RANKED_OUT = _schema(
    {"candidate_id": pl.UInt32, "limit": pl.String, "rank": pl.UInt32, "of": pl.UInt32, "rank_score": pl.Float64}
)
# One row a name; the vectors of one embedding model are all of the same length, and each has the length 1.
VECTORS = _schema({"name": pl.String, "vector": pl.List(pl.Float32)})

# One row a candidate that may go to the model: the key of its result, and what the store already holds for it.
REUSED = _schema(
    {
        "candidate_id": pl.UInt32,
        "key": pl.String,
        "payload": pl.String,
        "p_skip": pl.Float64,  # null: no decision stored
        "has_text": pl.Boolean,
    }
)

# One row a distinct key that the engine is asked about. `ask` is where it starts: "decide", or "generate" where the
# decision is stored. Rows stand in the order in which the engine reads them; `shared_tokens` is how many of a prompt's
# tokens the one before it begins with as well.
PLAN = _schema(
    {
        "chunk": pl.UInt32,
        "key": pl.String,
        "ask": pl.String,
        "p_skip": pl.Float64,
        "prompt_ids": pl.List(pl.Int32),
        "shared_tokens": pl.UInt32,
    }
)

# The result store. p_skip is exp(write's logprob) against exp(skip's) over both; label_mass is their sum, so a model
# that wants to say something else altogether shows.
DECISIONS = _schema(
    {
        "key": pl.String,
        "p_skip": pl.Float64,
        "label_mass": pl.Float64,
        "prompt_tokens": pl.Int64,
        "cached_tokens": pl.Int64,
        "finished_at": UTC_TIME,
    }
)
TEXTS = _schema(
    {
        "key": pl.String,
        "answer": pl.String,
        "finish_reason": pl.String,
        "prompt_tokens": pl.Int64,
        "cached_tokens": pl.Int64,
        "generated_tokens": pl.Int64,
        "finished_at": UTC_TIME,
        "attempt": pl.Int64,  # which answer this is: 1 is the first
        "passed": pl.Boolean,  # whether its row checks held; null: nobody has looked
    }
)
# One row a time that a text was asked for, of the pairs that were asked more than once, the first time among them.
# `codes` are those of the failed checks with commas between, "" where all held.
ATTEMPTS = _schema(
    {
        "key": pl.String,
        "attempt": pl.Int64,
        "answer": pl.String,
        "finish_reason": pl.String,
        "codes": pl.String,
        "prompt_tokens": pl.Int64,
        "cached_tokens": pl.Int64,
        "generated_tokens": pl.Int64,
        "finished_at": UTC_TIME,
    }
)

# What became of the prompt tokens of a chunk's requests, a stage at a time: see tasks.cache.
CACHE = _schema(
    {
        "chunk": pl.UInt32,
        "stage": pl.String,
        "requests": pl.Int64,
        "prompt": pl.Int64,
        "cached": pl.Int64,
        "evicted": pl.Int64,
        "remainder": pl.Int64,
        "first_time": pl.Int64,
        "hoped_for": pl.Int64,
        "found": pl.Int64,
    }
)

# Pairs that got no answer in this run, with the stage's error; never stored as results, so they are asked again.
FAILURES = _schema({"key": pl.String, "stage": pl.String, "error": pl.String})

# What a date was like, one row a small category ("" where the shop gives none): the history that later dates are
# compared with. `decided` pairs have a p_skip, `written` ones an answer; `bins` counts p_skip in twenty steps of 0.05.
STATISTICS = _schema(
    {
        "scate": pl.String,
        "candidates": pl.Int64,
        "decided": pl.Int64,
        "skipped": pl.Int64,
        "written": pl.Int64,
        "rejected": pl.Int64,
        "failed": pl.Int64,
        "bins": pl.List(pl.Int64),
    }
)

# One row a candidate: what was asked, what came, and its one outcome. `detail` says why: the rule, the codes of the
# failed checks, or the error.
OUTCOMES = _schema(
    {
        **CANDIDATES,
        "key": pl.String,
        "outcome": pl.String,
        "detail": pl.String,
        "evidence": pl.String,
        "reused": pl.Boolean,
        "p_skip": pl.Float64,
        "answer": pl.String,
        "text": pl.String,
        "generated_at": UTC_TIME,
    }
)
