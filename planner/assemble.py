"""From what was asked for to the whole plan."""

import datetime as dt

from planner import dates
from planner.asked import Asked
from planner.asks import Shape
from planner.hardware import Gpu
from planner.machine import context_of, error_on_last_run, notes_on, offload_of, shape_of, timing
from planner.made import Fixed, Layouts, Plan
from planner.model_config import Model, read_model
from planner.orders import Prediction
from planner.pareto import Load, choose, gain, points
from planner.plan import CHANGES, Context, cost, predict_orders, recommend, simplify, workers_for, write_shares
from planner.prompts import Prompts, made_up
from planner.roofline import Roofline
from planner.whatif import Retry, instruction, ratio, retries, seconds_apart, to_border
from tasks.errors import SayuError, UsageError
from tasks.preview import measure_pace
from tasks.runs import SHOP_TIME, parse_date, yesterday
from tasks.settings import OrderName, Settings

# Around the engine's work, where no run tells: loading it, and the stages before and behind.
AROUND = 90.0
SHARES = (0.25, 0.55, 0.75, 1.0)
# By how much prompts and texts may shift: the ratio of GPUs that read to GPUs that write shifts with them.
FACTORS = ((1.0, 1.0), (2.0, 1.0), (4.0, 1.0), (1.0, 2.0), (1.0, 0.5), (4.0, 2.0))


def make_plan(settings: Settings, asked: Asked) -> Plan:
    """All of the plan.

    Raises:
        UsageError: nothing is to be asked, or an option can't be planned with.
        ModelError: the model can't be read, or does not fit the GPU.
    """
    model = read_model(settings.model, settings.dtype)
    timed = timing(settings, model, asked)
    past = None if asked.prompt_tokens else dates.last_run(settings)
    answers = dates.expected_answers(past.finished.summary if past else None, asked.write_share, asked.text_tokens)
    what, prompts = _prompts(settings, asked, answers)
    if not prompts.lengths:
        raise UsageError(f"{what}: nothing is left to ask the engine", "plan another date, or --pairs")
    shape, notes = shape_of(settings, model, timed, asked.room), notes_on(settings, model, timed, past)
    if simplify(shape, len(prompts.lengths)) != shape:
        notes.append("so many pairs are simulated with the model's KV groups counted as one")
    order, changes, faster = recommend(context_of(settings, shape, timed), prompts)
    settings = settings.model_copy(update=changes)
    shape = Shape(**shape._asdict() | {name: value for name, value in changes.items() if name in Shape._fields})
    context = context_of(settings, shape, timed)
    predictions = predict_orders(context, prompts)
    best = next(prediction for prediction in predictions if prediction.order == order)
    around = _around(settings)
    workers = workers_for(best.seconds, around, _start(asked), asked.by, asked.workers) if asked.by else None
    engines = asked.workers or (workers.number if workers else 1)
    return Plan(
        what=what,
        model=model.name,
        time_model=timed.said,
        error=error_on_last_run(past, timed, settings, model),
        answers=answers,
        text_tokens=sum(prompts.texts) / len(prompts.texts),
        room=(shape.blocks + 1) // shape.groups * shape.block_size,
        block_size=shape.block_size,
        groups=shape.groups,
        notes=notes,
        predictions=[*zip((*(one.order for one in predictions[:-1]), "full, no cache"), predictions, strict=True)],
        order=order,
        settings={name: getattr(shape, name, None) or getattr(settings, name) for name, _ in CHANGES},
        changed=list(changes),
        faster=faster,
        cost=cost(best, answers, around, asked.price_per_hour, engines),
        workers=workers,
        layouts=_layouts(model, timed.gpu, load_of(prompts, best), asked, settings),
        offload=offload_of(next(one for one in predictions if one.order == "full"), timed, model),
        retries=_retries(answers, model, timed.gpu, load_of(prompts, best), asked, settings),
        fixed=_fixed(context, prompts, order),
        write_shares=write_shares(context, prompts, order, SHARES),
    )


def _prompts(settings: Settings, asked: Asked, answers: dates.Answers) -> tuple[str, Prompts]:
    if asked.prompt_tokens:
        tokens, shared = asked.prompt_tokens, asked.shared_tokens or 0
        text = asked.text_tokens or dates.TEXT_TOKENS
        made = made_up(asked.pairs or 10_000, tokens, shared, answers.write_share, text)
        return f"{len(made.lengths):,} prompts of {tokens} tokens, {shared} in common", made
    if asked.pairs:
        ordered, what = dates.ordered_pairs(asked.pairs, settings), f"{asked.pairs:,} pairs in the demo shop's shape"
    else:
        date = parse_date(asked.ds) if asked.ds else yesterday()
        ordered = dates.ordered_prompts(date, settings)
        what = f"{date}: {ordered.height:,} pairs to ask"
    return what, dates.with_answers(ordered, answers)


def _around(settings: Settings) -> float:
    """Seconds of a run that are not the engine's: the median of past runs, else assumed."""
    try:
        return measure_pace(settings).rest or AROUND
    except SayuError:  # a model without weights has no past runs
        return AROUND


def _start(asked: Asked) -> dt.datetime:
    """When the run begins: now, or at a time of day, in the shop's time."""
    now = dt.datetime.now(SHOP_TIME)
    if asked.start is None:
        return now
    try:
        hour, minute = map(int, asked.start.split(":"))
        return now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    except ValueError as error:
        raise UsageError(f"{asked.start} is no time of day", "give --start as HH:MM") from error


def load_of(prompts: Prompts, best: Prediction) -> Load:
    """A pair as a request: what it reads in all, and what it writes on average, a skip being one token."""
    pairs = len(prompts.lengths)
    written = sum(text for text, writes in zip(prompts.texts, prompts.writes, strict=True) if writes)
    return Load(sum(prompts.lengths) / pairs, max(1.0, best.computed / pairs), max(2.0, 1 + written / pairs))


def _layouts(model: Model, gpu: Gpu, load: Load, asked: Asked, settings: Settings) -> Layouts | None:
    """The frontier on the GPU; None where the model does not fit one of it."""
    roofline, share = Roofline(model, gpu), settings.gpu_memory_utilization
    if not roofline.fits(share):
        return None
    target = asked.token_ms / 1e3 if asked.token_ms else None
    found = points(roofline, load, asked.gpus, asked.link_gb or gpu.link_gb, share)
    shifted = [(p, t, Load(load.prompt * p, load.computed * p, load.answer * t)) for p, t in FACTORS]
    ratios = [(p, t, ratio(roofline, changed, settings.max_num_seqs)) for p, t, changed in shifted]
    return Layouts(gpu.name, asked.gpus, load, found, choose(found, target), gain(found, target), ratios)


def _retries(
    answers: dates.Answers, model: Model, gpu: Gpu, load: Load, asked: Asked, settings: Settings
) -> list[Retry]:
    """Only with a pass rate, given or measured: nothing is made up."""
    passed = asked.pass_rate or answers.pass_share
    if not passed:
        return []
    batch, large = settings.max_num_seqs, None
    if asked.large_model and asked.large_pass_rate:
        other = Roofline(read_model(asked.large_model, settings.dtype), gpu)
        large = (asked.large_pass_rate, *seconds_apart(other, load, batch))
    return retries(asked.tries, passed, *seconds_apart(Roofline(model, gpu), load, batch), large)


def _fixed(context: Context, prompts: Prompts, order: OrderName) -> list[Fixed]:
    """The fixed text as it is, a quarter shorter and longer, and at the nearest borders of blocks."""
    context, some = context.sample(prompts)
    shared = min(some.shared[1:], default=0)
    found = []
    for tokens in sorted({0, -shared // 4, shared // 4, *to_border(some, context.shape.block_size)}):
        changed, what = instruction(some, context.shape.block_size, tokens)
        predicted = context.predict(changed, order)
        computed = predicted.computed / len(some.lengths)
        found.append(Fixed(tokens, what.shared, what.left_over, computed, predicted.seconds))
    return found
