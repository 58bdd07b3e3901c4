"""`python -m training.photos FOLDER`: what the built-in model says of real pictures, as a table to be judged by eye."""

from __future__ import annotations

import argparse
from pathlib import Path

import recap

SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".tif", ".gif"}
QUESTIONS = ("What is in this picture?", "What is written in it?")
TOKENS = 60


def rows(folder: Path, reader: str) -> list[tuple[str, str, str]]:
    """(picture, question, answer) of every picture in the folder, in the order of their names."""
    target = recap.load_target("builtin", reader=reader)
    found = []
    for path in sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES):
        session = recap.Session(target)
        for question in QUESTIONS:
            images = [path] if question == QUESTIONS[0] else []
            answer = recap.generate(target, question, images=images, session=session, max_new_tokens=TOKENS)
            found.append((path.name, question, " ".join(answer.text.split())))
    return found


def main(arguments: list[str] | None = None) -> None:
    """Print a markdown table."""
    parser = argparse.ArgumentParser(prog="python -m training.photos", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reader", default="tuned", help="tuned, plain, or the path of an adapter")
    options = parser.parse_args(arguments)
    print("| picture | question | answer |\n|---|---|---|")
    for picture, question, answer in rows(options.folder, options.reader):
        print(f"| {picture} | {question} | {answer.replace('|', '/')} |")


if __name__ == "__main__":
    main()
