"""Blocks of KV in one pool, as vLLM keeps them: which of them hold what, and which go first.

The rules are those of vllm/v1/core/block_pool.py (0.32): a block that fills is found by what it holds until its memory
is needed; blocks in use stay; of the others the one that was freed longest ago goes first, a block that never filled
before all of them. Blocks that hold the same are not merged.
"""

from collections import deque
from collections.abc import Sequence

EMPTY, NEVER_FOUND = -1, -2  # what a block holds: nothing whole, or something that no other prompt begins with


class BlockPool:
    """So many blocks, for the layers of one model in `groups` KV groups.

    A prefix is found again only where every group still has it.
    """

    def __init__(self, blocks: int, groups: int, keeps: bool) -> None:
        """All of them free and empty; `keeps` False: no prefix cache."""
        self.blocks, self.free, self._groups, self._keeps = blocks, blocks, groups, keeps
        self._users = [0] * blocks
        self._holds = [EMPTY] * blocks
        # Freed blocks as number + turn × blocks. Entries of blocks that were used again since are skipped, not looked
        # for: an entry counts only while it is its block's last one.
        self._queue = deque(range(blocks))
        self._entry = list(range(blocks))
        self._turn = 1
        self._found: list[dict[int, int]] = [{} for _ in range(groups)]  # what is held → its block, by group
        self._twins: dict[int, list[int]] = {}  # where several blocks hold the same: all of them, oldest first

    def find(self, prefix: Sequence[int], most: int) -> int:
        """How many of the first `most` blocks of a prompt every group has."""
        hit = min(most, len(prefix)) if self._keeps else 0
        for found in self._found:
            for place in range(hit):
                if prefix[place] not in found:
                    hit = place
                    break
        return hit

    def unused(self, prefix: Sequence[int], hit: int) -> int:
        """How many blocks behind a hit are free: to use them takes them from those that are free."""
        users = self._users
        return sum(users[found[held]] == 0 for found in self._found for held in prefix[:hit])

    def use(self, prefix: Sequence[int], hit: int) -> list[list[int]]:
        """The blocks behind a hit, by group, in use from now on."""
        blocks = [[found[held] for held in prefix[:hit]] for found in self._found]
        users = self._users
        for group in blocks:
            for block in group:
                if users[block] == 0:
                    self.free -= 1
                    self._entry[block] = -1
                users[block] += 1
        return blocks

    def take(self, number: int) -> list[int]:
        """So many blocks for new content; what they held is lost. There must be as many that are free."""
        queue, entries, blocks, taken = self._queue, self._entry, self.blocks, []
        self.free -= number
        while number:
            entry = queue.popleft()
            block = entry % blocks
            if entries[block] != entry:
                continue
            entries[block] = -1
            if self._holds[block] >= 0:
                self._lose(block)
            self._holds[block] = EMPTY
            self._users[block] = 1
            taken.append(block)
            number -= 1
        return taken

    def fill(self, blocks: Sequence[int], group: int, prefix: Sequence[int], first: int, end: int) -> None:
        """The blocks `first` to `end` of a prompt are whole, and are found from now on."""
        found, holds, groups = self._found[group], self._holds, self._groups
        for place in range(first, end):
            block, held = blocks[place], prefix[place]
            key = held * groups + group
            holds[block] = key
            oldest = found.setdefault(held, block)
            if oldest != block:
                self._twins.setdefault(key, [oldest]).append(block)

    def release(self, blocks: Sequence[int], whole: int) -> None:
        """One group's blocks of a request that ends, of which the first `whole` are full: its end is lost first."""
        users, holds, entries, first, last = self._users, self._holds, self._entry, [], []
        for place in range(len(blocks) - 1, -1, -1):
            block = blocks[place]
            users[block] -= 1
            if users[block] == 0:
                self._turn += 1
                entry = entries[block] = self._turn * self.blocks + block
                if place < whole and self._keeps:
                    if holds[block] == EMPTY:
                        holds[block] = NEVER_FOUND
                    last.append(entry)
                else:
                    first.append(entry)
        self.free += len(first) + len(last)
        self._queue.extendleft(reversed(first))
        self._queue.extend(last)

    def _lose(self, block: int) -> None:
        key = self._holds[block]
        held, group = divmod(key, self._groups)
        found = self._found[group]
        twins = self._twins.get(key)
        if twins is None:
            del found[held]
            return
        twins.remove(block)
        found[held] = twins[0]
        if len(twins) == 1:
            del self._twins[key]
