"""The demo model's tokenizer: small, made from the shop, in the outward form of Gemma 3's.

A Unigram model whose pieces are the prompt's JSON, the words of the instruction and of the texts, every short
name, packaging, category and dish, all syllables of everyday Korean, and the 256 bytes for anything else. All
pieces cost the same, so the segmentation with the fewest tokens wins: a name is one token wherever it stands,
and copying it is one step for the model.

Any text comes back as it was: blanks stay blanks (no ▁ in their place, which would make a real ▁ a blank),
and what has no piece is spelled in bytes. A `<` always stands alone, so a text that reads `<eos>` or `<0x41>`
is never the token of that name; control tokens are found only as added tokens.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from string import Formatter

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from demo.catalogue import Shop
from demo.phrases import PARTICLES, TEMPLATES

PAD, EOS, BOS, UNK, END = "<pad>", "<eos>", "<bos>", "<unk>", "<end_of_turn>"
CONTROL = (PAD, EOS, BOS, UNK, "<start_of_turn>", END)

# The JSON of question and answer, cut so that each label is one token between two others.
JSON_PIECES = (
    *('{"recommended_item": "', '", "recommended_scate": "', '", "reason_item": "'),
    *('", "basket": ["', '", "', '"]}', '{"decision": "', "write", "skip", '", "text": "', '"}'),
    *("\n\n", "user\n", "model\n"),
)

# Gemma 3's chat form: a system text heads the first user turn, and the assistant is called model.
CHAT_TEMPLATE = """\
{{ bos_token }}
{%- set ns = namespace(head='') %}
{%- for message in messages %}
    {%- if message.role == 'system' %}
        {%- set ns.head = message.content | trim + '\\n\\n' %}
    {%- else %}
        {{- '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\\n' }}
        {{- ns.head + message.content | trim + '<end_of_turn>\\n' }}
        {%- set ns.head = '' %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<start_of_turn>model\\n' }}
{%- endif %}
"""


def build_tokenizer(shop: Shop, instruction: str) -> Tokenizer:
    """The tokenizer for one shop and one instruction; the same ids on every call."""
    control = [(piece, 0.0) for piece in CONTROL]
    spelled = [(f"<0x{byte:02X}>", -1.0) for byte in range(256)]
    known = list(dict.fromkeys(piece for piece in _pieces(shop, instruction) if piece))
    vocabulary = [*control, *spelled, *((piece, -1.0) for piece in known)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=CONTROL.index(UNK), byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("<"), behavior="isolated")
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(piece, special=True, normalized=False) for piece in CONTROL])
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write tokenizer.json, tokenizer_config.json and chat_template.jinja, as `AutoTokenizer` reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE, encoding="utf-8")
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BOS,
        "eos_token": EOS,
        "pad_token": PAD,
        "unk_token": UNK,
        "model_max_length": 1024,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _pieces(shop: Shop, instruction: str) -> Iterator[str]:
    yield from JSON_PIECES
    for item in shop.items.values():
        yield from (item.short, item.packaging, item.scate)
    for dish in shop.dishes:
        yield from (dish.name, dish.taste + " ", dish.way + " ")
    for form in (*PARTICLES, *PARTICLES.values()):
        yield from (form, form + " ")
    yield from _template_words(TEMPLATES)
    yield from _words(instruction)
    yield from _letters()


def _template_words(templates: Iterable[str]) -> Iterator[str]:
    for template in templates:
        for words, *_ in Formatter().parse(template):
            yield from _words(words)


def _words(text: str) -> Iterator[str]:
    """Words with the blank or line break after them, and without JSON's signs, which have their own."""
    yield from re.findall(r'[^\s{}":]+[ \n]?', text)


def _letters() -> Iterator[str]:
    """ASCII and the 2,350 everyday syllables of KS X 1001: two bytes from 0xB0A1 on in EUC-KR."""
    yield from map(chr, range(0x20, 0x7F))
    yield "\n"
    for lead in range(0xB0, 0xC9):
        yield from bytes(byte for trail in range(0xA1, 0xFF) for byte in (lead, trail)).decode("euc-kr")
