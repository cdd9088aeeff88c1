"""Named entities and the relations between them, out of prose, with spaCy. The model is the user's choice.

Options: ``model``, the name of an installed model package or the folder of one (needed; nothing is ever downloaded), and
``text``, a JMESPath expression for the prose, ``value.text`` unless given.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import jmespath
from jmespath.exceptions import JMESPathError
from pydantic import BaseModel, ConfigDict, ValidationError

from crawler.errors import BadSetting, complaint
from crawler.extractors.contract import Extraction, Failure
from crawler.extractors.sentences import KINDS, Relation, entity_name, relations
from facts.receipts import ClaimedFact
from graph.model import EdgeMention, NodeMention, NodeRef

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_BATCH: Final = 64
_OURS: Final = "1"


class _TextOptions(BaseModel):
    model_config = ConfigDict(extra="forbid")

    model: str
    text: str = "value.text"
    confidence: float = 0.8


class TextExtractor:
    """The model is loaded with the first batch, not with the rules."""

    name: Final = "text"

    def __init__(self, options: Mapping[str, Any]) -> None:
        try:
            read = _TextOptions.model_validate(dict(options))
        except ValidationError as error:
            where, said = complaint(error)
            raise BadSetting(f"text: {where}: {said}", argument=where) from error
        try:
            self._expression = jmespath.compile(read.text)
        except JMESPathError as error:
            raise BadSetting(
                f"text: text is not valid JMESPath: {str(error).splitlines()[0]}", argument="text"
            ) from error
        self._model = read.model
        self._confidence = read.confidence
        self.version = f"{_OURS}+{_require_model(read.model)}"

    @cached_property
    def _nlp(self) -> Language:
        import spacy  # noqa: PLC0415 - an extra, and slow to import

        try:
            return spacy.load(self._model)
        except (OSError, ValueError, ImportError) as error:
            raise BadSetting(f"text: the model {self._model!r} cannot be loaded: {error}", argument="model") from error

    def extract(self, facts: Sequence[ClaimedFact]) -> list[Extraction | Failure]:
        read = [self._prose(fact) for fact in facts]
        texts = [one for one in read if isinstance(one, str)]
        docs = self._nlp.pipe(texts, batch_size=_BATCH) if texts else iter(())
        return [one if not isinstance(one, str) else self._say(next(docs)) for one in read]

    def _prose(self, fact: ClaimedFact) -> str | Extraction | Failure:
        found = self._expression.search({"key": fact.key, "value": fact.value, "tags": list(fact.tags)})
        if found is None or found == "":
            return Extraction()
        if not isinstance(found, str):
            return Failure(label="text: not prose", message=f"the expression gives {type(found).__name__}, not a text")
        if len(found) > self._nlp.max_length:
            return Failure(
                label="text: too long", message=f"{len(found)} characters, the model takes {self._nlp.max_length}"
            )
        return found

    def _say(self, doc: Doc) -> Extraction:
        named = {(KINDS[one.label_], name) for one in doc.ents if one.label_ in KINDS and (name := entity_name(one))}
        nodes = [NodeMention(kind=kind, name=name) for kind, name in sorted(named)]
        strongest: dict[tuple[NodeRef, str, NodeRef], float] = {}
        for relation in relations(doc):
            place = (_reference(relation.source), relation.predicate, _reference(relation.target))
            strongest[place] = max(strongest.get(place, 0.0), self._strength(relation))
        edges = [
            EdgeMention(source=source, predicate=predicate, target=target, confidence=confidence)
            for (source, predicate, target), confidence in strongest.items()
        ]
        return Extraction(nodes=nodes, edges=edges)

    def _strength(self, relation: Relation) -> float:
        return round(self._confidence * relation.certainty, 4)


def _reference(end: tuple[str, str]) -> NodeRef:
    return NodeRef(kind=end[0], name=end[1])


def _require_model(model: str) -> str:
    """The model's name and version, looked up without importing anything; what is missing is named."""
    if importlib.util.find_spec("spacy") is None:
        raise BadSetting(
            f"text: spaCy is not installed, which the model {model!r} needs: install age-harvester[text]",
            argument="extractor",
        )
    folder = Path(model)
    if (folder / "meta.json").is_file():
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        return f"{meta.get('lang')}_{meta.get('name')}-{meta.get('version')}"
    if model.isidentifier() and importlib.util.find_spec(model) is not None:
        try:
            return f"{model}-{version(model)}"
        except PackageNotFoundError:
            return model
    raise BadSetting(
        f"text: there is no model {model!r}, neither as an installed package nor as a folder with a meta.json; install one "
        "beside age-harvester[text] and name it in the rule",
        argument="model",
    )
