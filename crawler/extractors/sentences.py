"""Relations between named entities from a dependency parse. Pure: a parsed document in, relations out.

Labels are those of spaCy's English models (ClearNLP); with models of another scheme entities are found, relations not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

KINDS: Final = {
    "PERSON": "person", "PER": "person", "ORG": "organisation", "GPE": "place", "LOC": "place", "FAC": "place",
    "NORP": "group", "PRODUCT": "product", "WORK_OF_ART": "work", "EVENT": "event", "LAW": "law", "LANGUAGE": "language",
    "MISC": "entity",
}  # fmt: skip
"""Our kind of node for each label of a model. Dates and amounts name no thing."""
_HEDGES: Final = {"may", "might", "could", "would", "should", "perhaps", "possibly", "allegedly", "reportedly", "if"}
_HEDGED: Final = 0.5
_LONG: Final = 40
_STRETCHED: Final = 0.8
_RELATIVE: Final = {"who", "which", "that"}


class Relation(NamedTuple):
    """Ends are kind and name; ``certainty`` is 1 for a plain sentence, less for a hedged or a very long one."""

    source: tuple[str, str]
    predicate: str
    target: tuple[str, str]
    certainty: float


def entity_name(entity: Span) -> str:
    """Without article and possessive, on one line."""
    tokens = [token for token in entity if token.tag_ != "POS"]
    if len(tokens) > 1 and tokens[0].lower_ == "the":
        tokens = tokens[1:]
    return " ".join("".join(token.text_with_ws for token in tokens).split())[:120]


def relations(doc: Doc) -> Iterator[Relation]:
    if not doc.has_annotation("DEP"):
        return
    ends = {token.i: (KINDS[one.label_], entity_name(one)) for one in doc.ents if one.label_ in KINDS for token in one}
    for sentence in doc.sents:
        certainty = sentence_certainty(sentence)
        for token in sentence:
            for source, predicate, target in (*_of_verb(token), *_of_apposition(token)):
                first, second = ends.get(source.i), ends.get(target.i)
                if first and second and first[1] and second[1] and first != second:
                    yield Relation(first, predicate, second, certainty)


def sentence_certainty(sentence: Span) -> float:
    doubted = sentence.text.rstrip().endswith("?") or any(token.lower_ in _HEDGES for token in sentence)
    return (_HEDGED if doubted else 1.0) * (_STRETCHED if len(sentence) > _LONG else 1.0)


_Said = tuple["Token", str, "Token"]


def _of_verb(verb: Token) -> Iterator[_Said]:
    """Subject, verb, object; the passive turned round; what stands behind prepositions of the verb or its object."""
    if verb.pos_ not in {"VERB", "AUX"} or any(child.dep_ == "neg" for child in verb.children):
        return
    act, passive = _spoken(verb), any(child.dep_ in {"nsubjpass", "auxpass"} for child in verb.children)
    subjects = list(_subjects(verb))
    for child in verb.children:
        if child.dep_ in {"dobj", "attr", "oprd"}:
            yield from ((subject, act, one) for subject in subjects for one in _with_conjuncts(child))
            yield from _through(subjects, act, child)
        elif child.dep_ == "agent":
            for one in _objects_of(child):
                yield from ((one, act, subject) for subject in subjects)
    yield from _through(subjects, verb.lower_ if passive else act, verb)


def _through(subjects: list[Token], act: str, head: Token) -> Iterator[_Said]:
    for preposition in head.children:
        if preposition.dep_ == "prep":
            for one in _objects_of(preposition):
                yield from ((subject, f"{act} {preposition.lower_}", one) for subject in subjects)


def _of_apposition(token: Token) -> Iterator[_Said]:
    if token.dep_ == "appos":
        yield token.head, "is", token
        yield from ((token.head, f"is {token.lower_} {preposition.lower_}", one) for preposition in token.children
                    if preposition.dep_ == "prep" for one in _objects_of(preposition))  # fmt: skip


def _subjects(verb: Token) -> Iterator[Token]:
    """Its own; a relative pronoun stands for what the clause hangs on; a conjoined verb borrows its neighbour's."""
    own = [child for child in verb.children if child.dep_ in {"nsubj", "nsubjpass"}]
    for subject in own:
        if subject.lower_ in _RELATIVE and verb.dep_ == "relcl":
            yield from _with_conjuncts(verb.head)
        else:
            yield from _with_conjuncts(subject)
    if own:
        return
    if verb.dep_ == "conj" and verb.head.pos_ in {"VERB", "AUX"}:
        yield from _subjects(verb.head)
    elif verb.dep_ == "acl":
        yield verb.head
    elif verb.dep_ == "xcomp":
        yield from _subjects(verb.head)


def _objects_of(preposition: Token) -> Iterator[Token]:
    for child in preposition.children:
        if child.dep_ == "pobj":
            yield from _with_conjuncts(child)


def _with_conjuncts(token: Token) -> Iterator[Token]:
    """The token, what is joined to it by and, and the name that stands beside it."""
    for one in (token, *(other for other in token.conjuncts if other.i > token.i)):
        yield one
        yield from (child for child in one.children if child.dep_ == "appos")


def _spoken(verb: Token) -> str:
    """The base form, with its particle: found, set up, be."""
    particle = next((f" {child.lower_}" for child in verb.children if child.dep_ == "prt"), "")
    return f"{verb.lemma_.lower()}{particle}"
