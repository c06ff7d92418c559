"""A vLLM engine without the model: which prompt tokens it finds in its cache, and what it does step by step.

In: passes, one after the other, of callers, each with some calls one after the other; a call is some requests handed
over together, and ends with the last of their answers. Out: cached tokens of every request, and every step's work.

The rules are those of vllm/v1/core/sched/scheduler.py (0.32) without speculation: whoever is being answered gets one
token a step, then the rest of the step's tokens goes to waiting prompts in their order; a prompt that does not fit
waits; where an answer needs a block and none is free, the youngest answer is interrupted and begun again.

A sliding window is taken to be longer than a prompt with its answer: then it saves no room. What hides hits even so is
that groups with sliding windows keep only blocks that the same prompt would find again, and none of answers. vLLM on
a GPU plans a step ahead, which keeps a request's blocks one step longer than here.
"""

from collections import deque
from collections.abc import Sequence

from planner.asks import Ask, Call, Caller, Clock, Outcome, Shape, Steps
from planner.pool import BlockPool
from tasks.errors import UsageError


def simulate(
    shape: Shape, passes: Sequence[Sequence[Caller]], clock: Clock = lambda *_: 1.0, pause: float = 0.0
) -> Outcome:
    """Answer all calls of all callers.

    Args:
        shape: The engine.
        passes: Callers that begin at once; each hands over its next call when the one before is answered.
        clock: How long a step takes.
        pause: Seconds that a caller takes after each of its calls.

    Raises:
        UsageError: a prompt with its answer is larger than the whole pool.
    """
    return _Engine(shape, clock, pause).run(passes)


class _Engine:
    def __init__(self, shape: Shape, clock: Clock, pause: float) -> None:
        self.shape, self.clock, self.pause = shape, clock, pause
        self.pool = BlockPool(shape.blocks, shape.groups, shape.prefix_cache)
        self.waiting: deque[Ask] = deque()
        self.running: dict[int, Ask] = {}  # by turn, which is their order
        self.reading: Ask | None = None  # whose prompt was too long for one step
        self.growing: dict[int, list[tuple[int, Ask]]] = {}  # by step: who needs a block
        self.ending: dict[int, list[tuple[int, Ask]]] = {}  # by step: whose last token comes
        self.coming: deque[tuple[float, Caller]] = deque()  # callers that pause, and until when
        self.steps = Steps([], [], [], [])
        self.step = self.turns = self.begun = self.preemptions = 0
        self.numbers = 1 << 60  # for blocks of answers, beyond all those of prompts
        self.interrupted = False  # whether somebody was in this step
        self.now, self.lengths = 0.0, 0  # `lengths`: of all answers, their prompt's tokens less their first step

    def run(self, passes: Sequence[Sequence[Caller]]) -> Outcome:
        for callers in passes:
            for caller in callers:
                self._hand_over(caller)
            while self.waiting or self.running or self.coming:
                while self.coming and (self.coming[0][0] <= self.now or not (self.waiting or self.running)):
                    due, caller = self.coming.popleft()
                    self.now = max(self.now, due)
                    self._hand_over(caller)
                if self.waiting or self.running:
                    self._one_step()
        return Outcome(self.steps, self.now, self.preemptions)

    def _hand_over(self, caller: Caller) -> None:
        for asks in caller:
            if asks:
                call = Call(len(asks), caller)
                for ask in asks:
                    ask.call = call
                self.waiting.extend(asks)
                return

    def _one_step(self) -> None:
        self.interrupted, self.begun = False, 0
        self._grow()
        answers = len(self.running) - (self.reading is not None)
        context = self.lengths + answers * self.step
        budget = self.shape.max_num_batched_tokens - answers
        prompt = self._read_on(budget)
        if not self.interrupted:
            prompt += self._begin(budget - prompt)
        done = (prompt, self.begun, answers, context)
        for so_far, number in zip(self.steps, done, strict=True):
            so_far.append(number)
        self.now += self.clock(*done)
        for _, ask in sorted(self.ending.pop(self.step, ()), key=lambda end: end[0]):
            self._end(ask)
        self.step += 1

    def _grow(self) -> None:
        """Give answers that begin a new block the blocks for it, if need be those of younger answers."""
        groups = self.shape.groups
        for turn, ask in sorted(self.growing.pop(self.step, ()), key=lambda due: due[0]):
            while turn in self.running and self.pool.free < groups:
                self._interrupt()
            if turn in self.running:
                for group in ask.blocks:
                    group += self.pool.take(1)

    def _interrupt(self) -> None:
        turn, ask = self.running.popitem()
        self.preemptions, self.interrupted = self.preemptions + 1, True
        written = self.step - ask.first_answer if ask is not self.reading else 0
        if ask is self.reading:
            self.reading = None
        else:
            last = ask.first_answer + ask.answer - 1
            self.ending[last] = [end for end in self.ending[last] if end[0] != turn]
            self.lengths -= ask.length - ask.first_answer
        self._keep_written(ask, written)
        ask.length, ask.answer, ask.computed = ask.length + written, ask.answer - written, 0
        self.waiting.appendleft(ask)

    def _keep_written(self, ask: Ask, written: int) -> None:
        """Release an answer that is not at its end: it finds its own beginning again, if that is not lost by then."""
        tokens = ask.length + written - 1 if written else ask.computed
        whole, known = tokens // self.shape.block_size, len(ask.prefix)
        if self.shape.prefix_cache and whole > known:
            ask.prefix = [*ask.prefix, *(self.numbers - place for place in range(whole - known))]
            self.numbers -= whole - known
            for group, blocks in enumerate(ask.blocks):
                self.pool.fill(blocks, group, ask.prefix, known, self._kept(ask, group, whole))
        self._release(ask, tokens)

    def _read_on(self, budget: int) -> int:
        """Go on with the prompt that was begun a step before."""
        if (ask := self.reading) is None:
            return 0
        tokens = min(budget, ask.length - ask.computed)
        blocks = -(-(ask.computed + tokens) // self.shape.block_size)
        if (blocks - len(ask.blocks[0])) * self.shape.groups > self.pool.free:
            self._interrupt()  # it is the youngest itself
            return 0
        return self._read(ask, tokens)

    def _begin(self, budget: int) -> int:
        """Begin with waiting prompts while there is room; returns how many of their tokens are computed."""
        pool, shape, begun = self.pool, self.shape, 0
        size, groups = shape.block_size, shape.groups
        while budget > begun and self.waiting and len(self.running) < shape.max_num_seqs:
            ask = self.waiting[0]
            if -(-(ask.length + ask.answer - 1) // size) * groups > shape.blocks:
                raise UsageError(
                    f"{ask.length + ask.answer} tokens of prompt and answer are more than the whole KV room",
                    "give the engine more room",
                )
            hit = pool.find(ask.prefix, (ask.length - 1) // size)
            # the whole prompt must fit, and blocks that are found are no longer free
            needed = (-(-ask.length // size) - hit) * groups
            if needed > pool.free or needed + pool.unused(ask.prefix, hit) > pool.free:
                break
            self.waiting.popleft()
            ask.blocks, ask.computed, ask.turn = pool.use(ask.prefix, hit), hit * size, self.turns
            if ask.cached < 0:
                ask.cached, ask.kept = ask.computed, (ask.length - 1) // size
            self.running[ask.turn] = ask
            self.turns += 1
            begun += self._read(ask, min(budget - begun, ask.length - ask.computed))
        return begun

    def _read(self, ask: Ask, tokens: int) -> int:
        """Compute some tokens of a prompt; behind the last one the answer begins."""
        size, pool = self.shape.block_size, self.pool
        computed = ask.computed + tokens
        first, whole = ask.computed // size, min(computed // size, len(ask.prefix))
        for group, blocks in enumerate(ask.blocks):
            blocks += pool.take(-(-computed // size) - len(blocks))
            if self.shape.prefix_cache:
                pool.fill(blocks, group, ask.prefix, first, self._kept(ask, group, whole))
        ask.computed = computed
        if computed < ask.length:
            self.reading = ask
            return tokens
        if self.reading is ask:
            self.reading = None
        self._answer(ask)
        return tokens

    def _answer(self, ask: Ask) -> None:
        """Note when the answer needs blocks, and when it ends."""
        ask.first_answer = self.step
        self.begun += 1
        self.lengths += ask.length - ask.first_answer
        self.ending.setdefault(self.step + ask.answer - 1, []).append((ask.turn, ask))
        size = self.shape.block_size
        for later in range((1 - ask.length) % size or size, ask.answer, size):
            self.growing.setdefault(self.step + later, []).append((ask.turn, ask))

    def _end(self, ask: Ask) -> None:
        del self.running[ask.turn]
        self.lengths -= ask.length - ask.first_answer
        self._release(ask, ask.length + ask.answer - 1)
        call = ask.call
        assert call is not None  # it was handed over
        call.left -= 1
        if not call.left:
            self.coming.append((self.now + self.pause, call.caller))

    def _release(self, ask: Ask, tokens: int) -> None:
        for group, blocks in enumerate(ask.blocks):
            self.pool.release(blocks, self._kept(ask, group, tokens // self.shape.block_size))
        ask.blocks = []

    def _kept(self, ask: Ask, group: int, whole: int) -> int:
        return min(whole, ask.kept) if group < self.shape.sliding else whole
