"""How much KV room an engine has, for a planner that loads none: what the last one with the same settings said."""

import hashlib
import json
from pathlib import Path

from tasks.engine import KvRoom, engine_settings
from tasks.files import write_json
from tasks.settings import Settings

# What a CPU engine takes; a GPU's blocks are smaller, and waste less.
LARGEST_BLOCK = 32


def remember_room(settings: Settings, room: KvRoom | None) -> None:
    """Keep what an engine with these settings says of its room."""
    if room and room != _remembered(settings):
        write_json({"tokens": room.tokens, "block_size": room.block_size}, _file(settings))


def expected_room(settings: Settings) -> KvRoom | None:
    """The room of an engine with these settings, loaded elsewhere; None where nothing is known of it."""
    return _remembered(settings) or (KvRoom(settings.kv_tokens, LARGEST_BLOCK) if settings.kv_tokens else None)


def _remembered(settings: Settings) -> KvRoom | None:
    try:
        return KvRoom(**json.loads(_file(settings).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):  # never written, or not by us
        return None


def _file(settings: Settings) -> Path:
    started_with = engine_settings(settings.with_whole_paths())
    return settings.store / "engines" / f"{hashlib.blake2b(started_with.encode(), digest_size=6).hexdigest()}.json"
