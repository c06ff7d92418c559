"""The ways of asking that are compared: each step adds one thing to the one before it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks.settings import Settings


@dataclass(frozen=True, eq=False)  # each is itself
class Variant:
    """A name, the settings that make the way, and whether the pairs stand in the plan's order."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    in_order: bool = True

    def apply(self, settings: Settings) -> Settings:
        """The settings of one trial."""
        return settings.model_copy(update=self.settings)


# A notebook's batch generation and the first two vLLM rows take the pairs as they come; "full" is every decision first.
TRANSFORMERS = Variant("transformers", {"engine": "transformers", "order": "full"}, in_order=False)
# What a notebook gains that knows the last step already, the one that needs no other engine.
TRANSFORMERS_FUSED = Variant("transformers, fused", {"engine": "transformers", "order": "fused"}, in_order=False)
PLAIN_VLLM = Variant("+ vLLM", {"prefix_cache": False, "order": "full"}, in_order=False)
PREFIX_CACHE = Variant("+ prefix cache", {"order": "full"}, in_order=False)
PAIR_ORDER = Variant("+ pair order", {"order": "full"})
# room for the KV of every pair of a bench, which are some hundred
TO_HOST = Variant("+ KV to host memory", {"order": "full", "kv_offload_gib": 4})
CHUNKED = Variant("+ chunked", {"order": "chunked"})
FUSED = Variant("+ fused", {"order": "fused"})
LADDER = (PLAIN_VLLM, PREFIX_CACHE, PAIR_ORDER, TO_HOST, CHUNKED, FUSED)


def ladder(quantised: Path | None, transformers: bool) -> tuple[Variant, ...]:
    """Every step that this machine was asked for."""
    steps = (TRANSFORMERS, TRANSFORMERS_FUSED, *LADDER) if transformers else LADDER
    return (*steps, Variant("+ quantised", {"order": "fused", "model": quantised})) if quantised else steps


def sweep() -> tuple[Variant, ...]:
    """Settings of the fused order around their defaults, one changed at a time."""
    changes: list[dict[str, Any]] = [{}]
    changes += [{"chunks_in_flight": number} for number in (1, 3, 4)]
    changes += [{"chunk_pairs": number} for number in (32, 64, 128)]
    changes += [{"max_num_seqs": number} for number in (32, 64, 128)]
    changes += [{"max_num_batched_tokens": number} for number in (512, 1024, 8192)]
    names = [", ".join(f"{name} {value}" for name, value in change.items()) or "defaults" for change in changes]
    return tuple(Variant(name, {"order": "fused", **change}) for name, change in zip(names, changes, strict=True))
