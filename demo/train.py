"""Train the demo model from scratch: `python -m demo.train` (an hour or so on one core; nobody has to).

A Gemma 3 of a few million parameters learns the demo shop: it sees the prompts of `prompts/reason/v1` exactly
as the pipeline renders them and learns the answers after them. The folder `demo/model/` then holds everything
an engine needs. `--evaluate` only measures what lies there; see `demo/evaluate.py` for the figures.
"""

import argparse
import math
import random
import tempfile
import time
from itertools import takewhile
from pathlib import Path
from typing import Any

import torch
from transformers import DynamicCache, Gemma3ForCausalLM, Gemma3TextConfig

from demo.catalogue import load_shop
from demo.evaluate import evaluate, print_figures
from demo.samples import Sample, Sampler
from demo.tokenizer import BOS, CONTROL, END, EOS, PAD, build_tokenizer, save_tokenizer
from tasks.prompt import load_prompt
from tasks.renderer import Renderer

MODEL = Path(__file__).parent / "model"
PROMPT = Path(__file__).parent.parent / "prompts" / "reason" / "v1"

BATCH = 32
PEAK_RATE = 1.5e-3
WARM_UP = 200
WEIGHT_DECAY = 0.3
# On what each layer adds: without it the pairs are learned by heart, and pairs held out are skipped.
DROPOUT = 0.1
# The decision is one token of a dozen in an answer, and the one that everything hangs on. Joined pairs are few and soon
# known by heart, others are always new: weighed alike, skip becomes the answer to every pair that is new.
WRITE_WEIGHT, SKIP_WEIGHT = 16.0, 3.0
SAVE_EVERY_S = 300


def configuration(vocabulary: int) -> Gemma3TextConfig:
    """Gemma 3 in small: one key-value head, sliding and full layers, a window longer than any prompt."""
    return Gemma3TextConfig(
        vocab_size=vocabulary,
        hidden_size=256,
        intermediate_size=768,
        num_hidden_layers=4,
        layer_types=["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=64,
        query_pre_attn_scalar=64,
        sliding_window=512,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        pad_token_id=CONTROL.index(PAD),
        bos_token_id=CONTROL.index(BOS),
        eos_token_id=[CONTROL.index(EOS), CONTROL.index(END)],
    )


def answer_loss(model: Any, batch: list[Sample], head: list[int], write_id: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean weighted cross-entropy of the answers' tokens, and that of the decisions alone (both scalars).

    The prompts' common head is computed once and its keys and values are shared by all rows, gradients
    included: less than half the tokens of full prompts. Rows are padded on the right, where causal attention
    never looks.
    """
    rows = [sample.prompt[len(head) :] + sample.answer for sample in batch]
    width = max(map(len, rows))
    tokens = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    targets, weights = tokens[:, 1:].clone(), torch.zeros(len(rows), width - 1)
    decisions = torch.zeros_like(weights, dtype=torch.bool)
    for index, sample in enumerate(batch):
        first = len(sample.prompt) - len(head) - 1  # the position whose next token is the decision
        weights[index, first + 1 : first + len(sample.answer)] = 1.0
        targets[index, first] = sample.decision
        weights[index, first] = WRITE_WEIGHT if sample.decision == write_id else SKIP_WEIGHT
        decisions[index, first] = True
    cache: Any = DynamicCache()
    model.model(torch.tensor([head]), past_key_values=cache, use_cache=True)
    for layer in cache.layers:
        layer.keys = layer.keys.expand(len(rows), -1, -1, -1)
        layer.values = layer.values.expand(len(rows), -1, -1, -1)
    hidden = model.model(tokens[:, :-1], past_key_values=cache, use_cache=True).last_hidden_state
    counted = weights > 0
    losses = torch.nn.functional.cross_entropy(
        model.lm_head(hidden[counted]).float(), targets[counted], reduction="none"
    )
    weight = weights[counted]
    return (losses * weight).sum() / weight.sum(), losses[decisions[counted]].mean().detach()


def common_head(batch: list[Sample]) -> list[int]:
    """The token ids with which all prompts start."""
    columns = zip(*(sample.prompt for sample in batch), strict=False)
    return [column[0] for column in takewhile(lambda column: len(set(column)) == 1, columns)]


def add_dropout(model: Any) -> None:
    """Gemma 3 has no dropout of its own: drop a share of what attention and MLP add, while training."""

    def drop(module: Any, _: Any, output: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(output, DROPOUT, module.training)

    for layer in model.model.layers:
        layer.post_attention_layernorm.register_forward_hook(drop)
        layer.post_feedforward_layernorm.register_forward_hook(drop)


def optimizer_for(model: Any) -> torch.optim.AdamW:
    """AdamW that decays matrices and leaves the norms alone."""
    matrices = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    norms = [parameter for parameter in model.parameters() if parameter.dim() == 1]
    groups = [{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": norms, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=PEAK_RATE, betas=(0.9, 0.98))


def rate_at(step: int, progress: float) -> float:
    """Learning rate: a warm-up in steps, and a cosine over the whole time down to a hundredth of the peak."""
    cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
    return PEAK_RATE * min(1.0, (step + 1) / WARM_UP) * (0.01 + 0.99 * cosine)


def train(model: Any, sampler: Sampler, minutes: float, checkpoint: Path) -> None:
    """Train until `minutes` are spent, going on from the checkpoint where there is one.

    Time and not steps is what is given: other work on the machine makes a step take one second or three. The
    checkpoint is saved every five minutes, with the time spent.
    """
    optimizer, step, spent = optimizer_for(model), 0, 0.0
    if checkpoint.is_file():
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        step, spent = saved["step"], saved["spent"]
        sampler.rng.seed(step)
    head = common_head(sampler.batch(BATCH))
    saved_at = last = time.monotonic()
    losses: list[tuple[float, float]] = []
    while spent < minutes * 60:
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, spent / (minutes * 60))
        losses.append(_step(model, optimizer, sampler.batch(BATCH), head, sampler.renderer.write_id))
        step, now = step + 1, time.monotonic()
        spent, last = spent + now - last, now
        if step % 200 == 0:
            loss, decision = (sum(column) / len(losses) for column in zip(*losses, strict=True))
            print(f"step {step:6d}  loss {loss:.3f}  decision {decision:.3f}  {spent / 60:5.1f} min", flush=True)
            losses.clear()
        if now - saved_at > SAVE_EVERY_S or spent >= minutes * 60:
            state = {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "step": step,
                "spent": spent,
            }
            torch.save(state, checkpoint.with_suffix(".new"))
            checkpoint.with_suffix(".new").replace(checkpoint)
            saved_at = now


def _step(model: Any, optimizer: Any, batch: list[Sample], head: list[int], write_id: int) -> tuple[float, float]:
    with torch.autocast("cpu", dtype=torch.bfloat16):  # a fifth faster than float32 where the CPU has bf16 units
        loss, decision = answer_loss(model, batch, head, write_id)
    torch.autograd.backward(loss)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return loss.item(), decision.item()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Train the demo model, or measure it on pairs it never saw.")
    parser.add_argument("--evaluate", action="store_true", help="measure only")
    parser.add_argument("--model", type=Path, default=MODEL, help="the model's folder")
    parser.add_argument("--minutes", type=float, default=70.0, help="how long to train")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--checkpoint", type=Path, default=Path(tempfile.gettempdir()) / "sayu-demo-model.pt")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    shop, prompt = load_shop(), load_prompt(PROMPT)
    tokenizer = build_tokenizer(shop, prompt.instruction)
    if not options.evaluate:
        save_tokenizer(tokenizer, options.model)
    sampler = Sampler(shop, Renderer(prompt, options.model), tokenizer, random.Random(0))
    if not options.evaluate:
        model: Any = Gemma3ForCausalLM(configuration(tokenizer.get_vocab_size()))
        print(
            f"{model.num_parameters():,} parameters, {len(sampler.joined):,} joined pairs to learn",
            flush=True,
        )
        add_dropout(model)
        train(model, sampler, options.minutes, options.checkpoint)
        model.to(torch.bfloat16).save_pretrained(options.model)
    print_figures(*evaluate(options.model, sampler))


if __name__ == "__main__":
    main()
