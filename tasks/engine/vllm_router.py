"""Which server a group of requests goes to: where its prompts are cached, else where there is least to do."""

from collections import OrderedDict
from collections.abc import Hashable, Sequence

from tasks.engine.vllm_endpoints import Endpoint
from tasks.errors import EngineError

MOST_GROUPS = 10_000  # remembered at a time; many more than are ever in flight


class Router:
    """Which endpoint a group of requests goes to: always the same, as long as it lives."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        """Route to these."""
        self._endpoints = endpoints
        self._homes: OrderedDict[Hashable, Endpoint] = OrderedDict()

    def choose(self, group: Hashable) -> Endpoint:
        """The endpoint of a group. A new one, or one whose endpoint is gone, goes whole to the least busy.

        Raises:
            EngineError: no endpoint lives.
        """
        home = self._homes.get(group)
        if home is None or not home.alive:
            home = self._homes[group] = self.least_busy()
            home.given += 1
        self._homes.move_to_end(group)
        if len(self._homes) > MOST_GROUPS:
            self._homes.popitem(last=False)
        return home

    def least_busy(self) -> Endpoint:
        """The endpoint with the fewest requests outstanding; of equal ones that which was given the fewest groups.

        Raises:
            EngineError: no endpoint lives.
        """
        living = [endpoint for endpoint in self._endpoints if endpoint.alive]
        if not living:
            told = ", ".join(f"{endpoint.url} ({endpoint.why_gone})" for endpoint in self._endpoints)
            raise EngineError(
                f"no server answers: {told}",
                "start `vllm serve` there or correct `servers`, then run again: what was answered is kept",
            )
        return min(living, key=lambda endpoint: (endpoint.outstanding, endpoint.given))
