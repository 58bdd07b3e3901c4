"""Plain questions without a picture, answered by the untuned model itself: what it could do, it should go on doing."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

from tqdm import tqdm

import recap

TOKENS = 64
"""Of each answer; longer ones are cut and taught without an end."""
_TOPICS = (
    "rain", "bread", "volcanoes", "the moon", "bicycles", "sleep", "music", "trees", "money", "friendship", "trains",
    "coffee", "bees", "libraries", "winter", "football", "rivers", "computers", "spiders", "elephants", "the wind",
    "chess", "honey", "maps", "gardens", "bridges", "the sea", "photographs", "clocks", "letters", "markets",
    "mountains", "birthdays", "ships", "potatoes", "dreams", "robots", "the night sky", "butterflies", "gold",
)  # fmt: skip
_FORMS = ("Tell me about {t}.", "Write two sentences about {t}.", "Why do people care about {t}?",
"Write a short poem on {t}.",
          "Give me three facts about {t}.", "Explain {t} to a child.", "What is the best thing about {t}?")  # fmt: skip
_OTHERS = (
    "How are you today?",
    "Tell me a joke.",
    "What is 12 plus 7?",
    "What is 9 times 8?",
    "How do I boil an egg?",
    "Write an email asking for a day off.",
    "Give me a name for a cat.",
    "List the planets.",
    "What is a verb?",
    "How far away is the sun?",
    "What is photosynthesis?",
    "Write a Python function that adds two numbers.",
    "How can I learn to swim?",
    "What should I cook tonight?",
    "Summarise: The train was late because of snow, so Mia missed her meeting and called her boss to apologise.",
    "Make this polite: give me the report now.",
    "Use 'river' in a sentence.",
    "Is it safe to drink sea water?",
    "Why is the sky blue?",
    "How does a fridge work?",
    "Plan a weekend in Paris.",
    "Write the first line of a fairy tale.",
    "Sort these numbers: 5, 2, 9, 1.",
    "What makes a good teacher?",
    "Describe the taste of a lemon.",
    "Give advice to someone who is nervous before an exam.",
    "What is the difference between a frog and a toad?",
    "Correct this sentence: He go to school yesterday.",
    "Write a haiku about the sea.",
    "What is a prime number?",
)
PROMPTS = (
    *_OTHERS,
    *(form.format(t=topic) for topics in (_TOPICS[:20], _TOPICS[20:]) for form, topic in product(_FORMS, topics)),
)


def answers(path: Path, count: int) -> list[dict]:
    """[{"prompt", "answer", "ended"}] of the first `count` prompts, greedy; kept in a file and gone on with."""
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    known = {entry["prompt"]: entry for entry in map(json.loads, lines)}
    wanted = PROMPTS[:count]
    missing = [prompt for prompt in wanted if prompt not in known]
    if missing:
        target = recap.load_target("builtin", reader="plain")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as stream:
            for prompt in tqdm(missing, desc="plain answers of the untuned model"):
                answer = recap.generate(target, prompt, max_new_tokens=TOKENS)
                known[prompt] = {"prompt": prompt, "answer": answer.text, "ended": answer.finish_reason == "stop"}
                stream.write(json.dumps(known[prompt]) + "\n")
                stream.flush()
    return [known[prompt] for prompt in wanted]
