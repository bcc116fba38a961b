"""Train a language model to play a game by GRPO of the library TRL: answers to a position compete by their regrets.

    python scripts/train/grpo.py --steps 2
    python scripts/train/grpo.py --env connect_four --model FOLDER --steps 500 --save trained

Needs TRL (extra `trl`). --model is a folder of a model and its tokenizer with a chat template, as `save_pretrained`
of transformers writes them. Without one a tiny GPT-2 of random weights learns, which shows that all parts work: its
tokens are bytes and whole moves. The script imports nothing from its folder: copy it to start your own.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

import tensor_envs as te
from tensor_envs._command import add_game, command_parser, game_of, new_file, run, whole
from tensor_envs._validate import need

TEMPLATE = "{% for message in messages %}{{ message.content }}\n{% endfor %}"  # of a chat with the random model


def positions(env: te.Env, count: int, plies: int, seed: int) -> list[dict[str, Any]]:
    """Return prompts and positions after up to so many random plies."""
    state = env.init(count, seed)
    rows = list[dict[str, Any]]()
    for ply in range(plies + 1):
        over = (state.terminated | state.truncated).numpy()
        for row in np.flatnonzero(~over & (np.arange(count) % (plies + 1) == ply)).tolist():
            content = te.text.prompt(state, row, rules=True)
            position = json.dumps(env.state_to_dict(state, row))
            rows.append({"prompt": [{"role": "user", "content": content}], "position": position})
        state = env.step(state, te.agents.uniform(state))
    return rows


def random_model(texts: Sequence[str], moves: Sequence[str]) -> tuple[Any, Any]:
    """Return a tiny GPT-2 of random weights, and a tokenizer of bytes and of whole answers."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    split = pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters = {letter for text in texts for piece, _ in split.pre_tokenize_str(text) for letter in piece}
    fast = Tokenizer(models.BPE({letter: number for number, letter in enumerate(sorted(letters))}, []))
    fast.pre_tokenizer = split
    fast.decoder = decoders.ByteLevel()
    fast.add_tokens([f"\nmove: {name}\n" for name in moves])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=fast, eos_token="<end>", pad_token="<pad>")
    tokenizer.chat_template = TEMPLATE
    length = 256 + max(len(tokenizer(text).input_ids) for text in texts)
    sizes = {"vocab_size": len(tokenizer), "n_positions": length, "n_embd": 32, "n_layer": 1, "n_head": 2}
    tokens = {"eos_token_id": tokenizer.eos_token_id, "bos_token_id": None, "pad_token_id": tokenizer.pad_token_id}
    return GPT2LMHeadModel(GPT2Config(**sizes, **tokens)), tokenizer


def work(options: argparse.Namespace) -> None:
    need("trl", "this script", "trl")
    import torch
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    env = game_of(options)
    torch.manual_seed(options.seed)
    rows = positions(env, options.positions, options.plies, options.seed)
    if options.model is None:
        texts = [row["prompt"][0]["content"] for row in rows]
        model, tokenizer = random_model(texts, env.action_names)
    else:
        model = AutoModelForCausalLM.from_pretrained(options.model)
        tokenizer = AutoTokenizer.from_pretrained(options.model)

    def reward(completions: Sequence[Any], position: Sequence[str], **_: Any) -> list[float]:
        """Return minus the regret of each answer; all answers to a position are judged at once."""
        rewards = list[float]()
        answers = [completion[0]["content"] for completion in completions]
        for game, group in groupby(zip(position, answers, strict=True), key=lambda pair: pair[0]):
            state = env.state_from_dicts([json.loads(game)])
            rewards += te.text.rewards(env, state, [answer for _, answer in group])
        return rewards

    settings = GRPOConfig(
        output_dir=str(options.save or "grpo"),
        max_steps=options.steps,
        num_generations=options.group,
        per_device_train_batch_size=options.group,
        max_completion_length=options.tokens,
        learning_rate=options.learning_rate,
        seed=options.seed,
        use_cpu=not torch.cuda.is_available(),
        bf16=torch.cuda.is_available(),
        gradient_checkpointing=False,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    trainer = GRPOTrainer(model, reward, settings, Dataset.from_list(rows), processing_class=tokenizer)
    trainer.train()
    for step, log in enumerate(log for log in trainer.state.log_history if "reward" in log):
        print(f"step {step + 1}: mean reward {log['reward']:.3f}")
    if options.save is not None:
        trainer.save_model(str(options.save))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python scripts/train/grpo.py", __doc__)
    add_game(parser, "tic_tac_toe")
    parser.add_argument("--model", metavar="FOLDER", help="default: a tiny one of random weights")
    parser.add_argument("--steps", type=whole(1), default=20, help="default: %(default)s")
    parser.add_argument("--group", type=whole(2), default=8, help="answers to a position; default: %(default)s")
    parser.add_argument("--tokens", type=whole(1), default=8, help="of an answer at most; default: %(default)s")
    parser.add_argument("--positions", type=whole(1), default=64, help="default: %(default)s")
    parser.add_argument("--plies", type=whole(0), default=5, help="random plies before; default: up to %(default)s")
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="default: %(default)s")
    parser.add_argument("--seed", type=whole(0, 2**32 - 1), default=0)
    parser.add_argument("--save", type=new_file, metavar="FOLDER", help="folder for the trained model")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
