"""What a date's rules see, all pairs at once.

A pair meets the rules in their order: one that warns is recorded and the pair goes on, the first that rejects ends it.
What is known of an item alone (its groups, whether its name is one) is worked out once an item, not once a pair.
"""

import hashlib

import polars as pl

from tasks.records import RULE_HITS, SCREENED, conform
from tasks.rules.file import MISSING_ID
from tasks.rules.product import product_of
from tasks.rules.schema import Blocked, Group, NeverTogether, NoName, Rule, Rules, SameItem

ITEM = ("id", "name", "scate")
SIDES = {
    "recommended": ("recommended_item_id", "recommended_item", "recommended_scate"),
    "reason": ("reason_item_id", "reason_item", "reason_scate"),
}


def find_hits(candidates: pl.DataFrame, rules: Rules, sample: float) -> pl.DataFrame:
    """The rules' hits on a date's pairs (records.RULE_HITS), in the order of the candidates.

    Args:
        candidates: records.CANDIDATES; of them the ids, names and categories of both sides.
        rules: The rules; `missing_id` stands before them.
        sample: Share of the pairs turned away that go on all the same, the same ones every time. A pair that a rule
            with `sample = false` rejects is never among them.
    """
    met = _meet(candidates, rules)
    rejects = [(number, rule) for number, rule in enumerate(rules.rule, 1) if rule.effect == "reject"]
    saw = pl.col
    first = pl.min_horizontal(
        pl.when(saw("0").is_not_null()).then(0),
        *(pl.when(saw(str(number)).is_not_null()).then(number) for number, _ in rejects),
    )
    firm = ["0", *(str(number) for number, rule in rejects if not rule.sample)]
    met = met.with_columns(first=first, firm=pl.any_horizontal(saw(name).is_not_null() for name in firm))
    through = _sample(met.filter(saw("first").is_not_null() & ~saw("firm")), sample)
    met = met.with_columns(through=saw("candidate_id").is_in(through.implode()))
    rejected = pl.when("through").then(pl.lit("let_through")).otherwise(pl.lit("reject"))
    hits = [RULE_HITS.to_frame()]
    for number, (name, effect) in enumerate([(MISSING_ID, "reject"), *((rule.id, rule.effect) for rule in rules.rule)]):
        seen = met.filter(saw(str(number)).is_not_null(), saw("first").fill_null(number) >= number)
        effects = rejected if effect == "reject" else pl.lit("warn")
        columns = {"rule": pl.lit(name), "effect": effects, "evidence": saw(str(number))}
        hits.append(seen.select("candidate_id", **columns).pipe(conform, RULE_HITS))
    return pl.concat(hits).sort("candidate_id", maintain_order=True)


def turned_away(hits: pl.DataFrame) -> pl.DataFrame:
    """The pairs that need no model (records.SCREENED), of the rules' hits."""
    return hits.filter(pl.col("effect") == "reject").pipe(conform, SCREENED)


def _meet(candidates: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """One row a pair: the ids, and for each rule by its place ("0": missing_id) what it saw, null where nothing."""
    sides = {side: candidates.select(**dict(zip(ITEM, columns, strict=True))) for side, columns in SIDES.items()}
    facts = _facts(pl.concat(sides.values()).unique(), rules)
    known = [
        rows.join(facts, on=ITEM, how="left", nulls_equal=True, maintain_order="left").select(
            pl.all().name.prefix(f"{side}:")
        )
        for side, rows in sides.items()
    ]
    pairs = pl.concat([candidates.select("candidate_id"), *known], how="horizontal")
    ids = [pl.col(f"{side}:id").alias(side) for side in SIDES]
    saw = [_missing_id(), *(_evidence(rule, number) for number, rule in enumerate(rules.rule, 1))]
    return pairs.select("candidate_id", *ids, **{str(number): each for number, each in enumerate(saw)})


def _facts(items: pl.DataFrame, rules: Rules) -> pl.DataFrame:
    """The items with what rules ask of one alone: by each group what puts it there, its product, its lack of a name."""
    facts = {f"in {name}": _membership(group) for name, group in rules.groups.items()}
    facts["product"] = product_of(pl.col("name"))
    for number, rule in enumerate(rules.rule, 1):
        if isinstance(rule, NoName):
            facts[f"nameless {number}"] = _letters(pl.col("name")).is_in(["", *_placeholders(rule)])
    return items.with_columns(**facts)


def _membership(group: Group) -> pl.Expr:
    """What puts an item into a group: its number, brand or category, or what of its name matched; null: nothing."""
    item, name, scate = (pl.col(column) for column in ITEM)
    listed = pl.when(item.is_in(group.ids)).then(item.cast(pl.String))
    said: list[pl.Expr] = [listed, pl.when(scate.is_in(group.categories)).then(scate)]
    if group.brands:
        brands = "|".join(pl.escape_regex(brand) for brand in group.brands)
        said.append(name.str.extract(rf"(?i)(?:^|[\[(<{{【（]\s*)({brands})(?:$|[^\p{{L}}\d])", 1))
    if group.categories_like:
        said.append(pl.when(scate.str.contains(f"(?i){group.categories_like}")).then(scate))
    if group.names:
        said.append(name.str.extract(f"(?i)({group.names})", 1).str.strip_chars())
    exceptions = [(name, group.except_names), (scate, group.except_categories_like)]
    excepted = [column.str.contains(f"(?i){pattern}") for column, pattern in exceptions if pattern]
    return pl.when(~pl.any_horizontal(pl.lit(False), *excepted)).then(pl.coalesce(said))


def _evidence(rule: Rule, number: int) -> pl.Expr:
    """What a rule saw in a pair, null where it does not hold."""
    one, other = (f"{side}:" for side in SIDES)
    if isinstance(rule, Blocked):
        return pl.coalesce(_in(one, rule.items), _in(other, rule.items))
    if isinstance(rule, NeverTogether):
        ways = (_in(one, rule.one), _in(other, rule.other)), (_in(one, rule.other), _in(other, rule.one))
        return pl.coalesce(pl.concat_str(*way, separator=" × ") for way in ways)  # null where one of the two is
    if isinstance(rule, NoName):
        holds = pl.any_horizontal(f"{side}nameless {number}" for side in (one, other))
        return pl.when(holds).then(pl.format("{} / {}", _label(one), _label(other)))
    column = "name" if isinstance(rule, SameItem) else "product"
    holds = pl.col(f"{one}{column}") == pl.col(f"{other}{column}")
    if isinstance(rule, SameItem):
        holds |= pl.col(f"{one}id") == pl.col(f"{other}id")
        return pl.when(holds).then(pl.col(f"{one}name"))
    return pl.when(holds).then(pl.format("{} / {}", f"{one}name", f"{other}name"))


def _missing_id() -> pl.Expr:
    missing = pl.any_horizontal(pl.col(f"{side}:id").is_null() for side in SIDES)
    return pl.when(missing).then(pl.format("{} / {}", *(pl.col(f"{side}:name").fill_null("") for side in SIDES)))


def _in(side: str, groups: tuple[str, ...]) -> pl.Expr:
    return pl.coalesce(pl.col(f"{side}in {group}") for group in groups)


def _label(side: str) -> pl.Expr:
    """The name of a side's item, its number where it has none."""
    return pl.when(pl.col(f"{side}name") != "").then(f"{side}name").otherwise(pl.format("#{}", pl.col(f"{side}id")))


def _letters(name: pl.Expr) -> pl.Expr:
    return name.str.to_lowercase().str.replace_all(r"[^\p{L}]", "")


def _placeholders(rule: NoName) -> list[str]:
    return pl.select(_letters(pl.lit(pl.Series("name", rule.placeholders, pl.String))))["name"].to_list()


def _sample(pairs: pl.DataFrame, share: float) -> pl.Series:
    """The `candidate_id`s of the pairs that belong to the sample, by their two ids."""
    if not share:
        return pl.Series(dtype=pl.UInt32)
    drawn = [_draw(*ids) < share for ids in pairs.select(*SIDES).iter_rows()]
    return pairs.filter(pl.Series(drawn, dtype=pl.Boolean))["candidate_id"]


def _draw(recommended: int, reason: int) -> float:
    """A number from 0 to 1 that is a pair's own, on every machine and every date."""
    return int.from_bytes(hashlib.blake2b(f"{recommended} {reason}".encode(), digest_size=8).digest()) / 2**64
