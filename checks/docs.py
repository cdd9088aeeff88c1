"""Everything a person can type is on its page of docs/, and what is on a page exists.

A page counts a name as documented when it stands in a code span. Commands are sections of their own, whose options are
looked for in that section only; tools likewise, with their parameters.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from checks.tree import ROOT, finish
from crawler import rules, settings
from crawler.extractors import llm, mapping, text
from crawler.registry import all_tools

CODE = re.compile(r"`([^`\n]+)`")
HEADING = re.compile(r"^#+ `([^`]+)`.*$", re.MULTILINE)
WORD = re.compile(r"--?[a-z][a-z0-9-]*|[A-Za-z_][A-Za-z0-9_]*")
VARIABLE = re.compile(rf"{settings.ENVIRONMENT_PREFIX}[A-Z0-9_]+")
RULE_MODELS: tuple[Any, ...] = (
    rules._File,  # noqa: SLF001 - the keys of the file are the fields of its models
    rules._RuleTable,  # noqa: SLF001
    mapping._MappingOptions,  # noqa: SLF001
    mapping._NodeOptions,  # noqa: SLF001
    mapping._EdgeOptions,  # noqa: SLF001
    mapping._EndOptions,  # noqa: SLF001
    text._TextOptions,  # noqa: SLF001
    llm._LlmOptions,  # noqa: SLF001
)


def code_words(text: str) -> set[str]:
    return {word for span in CODE.findall(text) for word in WORD.findall(span)}


def sections(text: str) -> dict[str, str]:
    """The text under each heading that is a code span."""
    starts = list(HEADING.finditer(text))
    ends = [*(match.start() for match in starts), len(text)][1:]
    return {match[1]: text[match.end() : end] for match, end in zip(starts, ends, strict=False)}


def missing_words(page: str, text: str, wanted: set[str], what: str) -> Iterator[str]:
    for name in sorted(wanted - code_words(text)):
        yield f"docs/{page}: the {what} {name} is not documented"


def missing_sections(page: str, text: str, wanted: Mapping[str, set[str]], what: str) -> Iterator[str]:
    """Every name has a section that holds its parts, and every such section is of something that exists."""
    found = sections(text)
    for name, parts in sorted(wanted.items()):
        if name not in found:
            yield f"docs/{page}: the {what} {name} is not documented"
            continue
        for part in sorted(parts - code_words(found[name])):
            yield f"docs/{page}: {what} {name}: {part} is not documented"
    for name in sorted(set(found) - set(wanted)):
        yield f"docs/{page}: there is no {what} {name}"


def setting_names() -> set[str]:
    return {settings.ENVIRONMENT_PREFIX + name.upper() for name in settings.Settings.model_fields}


def rule_keys() -> set[str]:
    return {info.alias or name for model in RULE_MODELS for name, info in model.model_fields.items()}


def command_options(command: Any, path: str) -> Iterator[tuple[str, set[str]]]:
    """Each command with its long options; `--help` goes without saying, and so does a group without options."""
    inner = getattr(command, "commands", {})
    for name, one in inner.items():
        yield from command_options(one, f"{path} {name}")
    spelled = {word for parameter in command.params for word in (*parameter.opts, *parameter.secondary_opts)}
    options = {word for word in spelled if word.startswith("--") and word != "--help"}
    if not command.hidden and (options or not inner):
        yield path, options


def commands() -> dict[str, set[str]]:
    from crawler.cli import app  # noqa: PLC0415 - the other checks of this module do without the command line

    return dict(command_options(typer.main.get_command(app), "harvester"))


def tools() -> dict[str, set[str]]:
    """Each tool with the names of its arguments, as callers spell them."""
    return {name: set(tool.input_schema().get("properties", {})) for name, tool in all_tools().items()}


def page_text(page: str, root: Path = ROOT) -> str:
    path = root / "docs" / page
    return path.read_text() if path.exists() else ""


def problems() -> list[str]:
    said = page_text("settings.md")
    found = list(missing_words("settings.md", said, setting_names(), "setting"))
    stale = set(VARIABLE.findall(said)) - setting_names() - {settings.ENVIRONMENT_PREFIX}
    found += [f"docs/settings.md: there is no setting {name}" for name in sorted(stale)]
    found += missing_words("harvest-toml.md", page_text("harvest-toml.md"), rule_keys(), "key")
    found += missing_sections("commands.md", page_text("commands.md"), commands(), "command")
    found += missing_sections("tools.md", page_text("tools.md"), tools(), "tool")
    return found


if __name__ == "__main__":
    finish("docs", problems())
