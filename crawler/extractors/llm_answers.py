"""What a model may answer, and by which name everything else is refused.

Taken: one JSON value of a shape that `crawler.extractors.shapes` reads, alone or in one Markdown fence. An answer that says
nothing (``{"nodes": [], "edges": []}``, ``[]``) is an empty extraction; one that cannot be read is a failure, never empty.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from crawler.errors import UnknownShape
from crawler.extractors.contract import Extraction, Failure
from crawler.extractors.shapes import Defaults, read_mentions
from graph.model import ABSENT, EdgeMention, NodeMention, NodeRef

_FENCED: Final = re.compile(r"```[a-zA-Z]*[ \t]*\r?\n(.*)\n[ \t]*```", re.DOTALL)
_SHOWN: Final = 200
SHAPE: Final = (
    '{"nodes": [{"kind": "person", "name": "Ada", "aliases": []}], "edges": [{"from": {"kind": "person", "name": "Ada"}, '
    '"to": {"kind": "city", "name": "Turin"}, "predicate": "lives in", "confidence": 0.9}]}'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What a rule lets a model say. Empty: anything. ``confidence`` is the most that an edge may have."""

    kinds: tuple[str, ...] = ()
    predicates: tuple[str, ...] = ()
    confidence: float = 0.8


def answer_schema(allowed: Allowed) -> dict[str, Any]:
    """JSON schema of the canonical shape, in the strict subset that endpoints compile to a grammar."""

    def fields(**properties: Any) -> dict[str, Any]:
        return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}

    def text(one_of: tuple[str, ...] = ()) -> dict[str, Any]:
        return {"type": "string", "enum": list(one_of)} if one_of else {"type": "string"}

    kind = text(allowed.kinds)
    end = fields(kind=kind, name=text())
    node = fields(kind=kind, name=text(), aliases={"type": "array", "items": text()})
    edge = fields(
        **{"from": end}, to=end, predicate=text(allowed.predicates), confidence={"type": "number"},
    )  # fmt: skip
    return fields(nodes={"type": "array", "items": node}, edges={"type": "array", "items": edge})


def read_completion(body: bytes) -> str | Failure:
    """The one choice of a chat completion that ended by itself."""
    decoded = _decoded(body)
    choices = decoded.get("choices") if isinstance(decoded, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(decoded, dict) or not isinstance(choice, dict) or not isinstance(message, dict):
        return _refused("no completion", f"the endpoint's answer is no chat completion: {_shown(body)}")
    if message.get("refusal") or choice.get("finish_reason") == "content_filter":
        return _refused("declined", f"the model declined: {_shown(message.get('refusal') or 'content filter')}")
    if choice.get("finish_reason") == "length":
        return _refused(
            "truncated", "the answer was cut at the endpoint's limit of tokens; see `body` in the rule's options"
        )
    content = message.get("content")
    if not isinstance(content, str) or not content.strip():
        return _refused("no text", "the model answered without a text")
    return content


def tokens_of(body: bytes) -> int | None:
    """What the endpoint says the call cost, refused answers included."""
    decoded = _decoded(body)
    usage = decoded.get("usage") if isinstance(decoded, dict) else None
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    return total if isinstance(total, int) and not isinstance(total, bool) and total >= 0 else None


def read_answer(text: str, allowed: Allowed) -> Extraction | Failure:
    """What the model says of one fact."""
    bare = text.strip()
    fenced = _FENCED.fullmatch(bare)
    json_text = fenced[1] if fenced else bare
    value = _decoded(json_text)
    if value is None:
        label = "broken JSON" if json_text.lstrip().startswith(("{", "[", "`")) else "prose"
        return _refused(label, f"the answer is not one JSON value: {_shown(bare)}")
    try:
        nodes, edges = read_mentions(value, Defaults(confidence=allowed.confidence))
    except UnknownShape as error:
        return _refused(f"unknown shape: {error.shape}", error.message)
    return _forbidden(nodes, edges, allowed) or Extraction(
        nodes=[node._replace(namespace=ABSENT) for node in nodes],
        edges=[edge._replace(namespace=ABSENT, confidence=min(edge.confidence, allowed.confidence)) for edge in edges],
    )


def _forbidden(nodes: list[NodeMention], edges: list[EdgeMention], allowed: Allowed) -> Failure | None:
    """A model reads what strangers wrote: where things go and how sure they may be is the rule's to say."""
    named: list[NodeMention | EdgeMention] = [*nodes, *edges]
    if any(isinstance(each.namespace, str) for each in named):
        return _refused("namespace", "the answer names a namespace, which is for the rule to say")
    ends = [end for edge in edges for end in (edge.source, edge.target)]
    if loose := [end for end in ends if isinstance(end, str)]:
        return _refused(
            "end without kind", f"an edge's end is {loose[0][:_SHOWN]!r}: neither kind and name nor a node's id"
        )
    kinds = {node.kind for node in nodes} | {end.kind for end in ends if isinstance(end, NodeRef)}
    if allowed.kinds and (odd := kinds - set(allowed.kinds)):
        return _refused("kind", f"{min(odd)[:_SHOWN]!r} is none of the rule's kinds")
    if allowed.predicates and (odd := {edge.predicate for edge in edges} - set(allowed.predicates)):
        return _refused("predicate", f"{min(odd)[:_SHOWN]!r} is none of the rule's predicates")
    if any(not 0 <= edge.confidence <= 1 for edge in edges):
        return _refused("confidence", "a confidence is not between 0 and 1")
    return None


def _decoded(text: str | bytes) -> Any:
    """None for what is not JSON, and for null, which is no answer either."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _refused(label: str, message: str) -> Failure:
    return Failure(label=f"llm: {label}", message=message)


def _shown(said: object) -> str:
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    return repr(text[:_SHOWN])
