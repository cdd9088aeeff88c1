"""What every command is given: settings, the decoded ``harvest.toml``, and how to speak."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from crawler.logs import configure_logs
from crawler.settings import CONFIG_FILE, Settings, read_config, read_settings

if TYPE_CHECKING:
    from crawler.rules import RuleSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """``given``: the options before the command, which settings are read again with when a command adds its own."""

    settings: Settings
    config: dict[str, Any]
    config_path: Path | None
    given: dict[str, Any]

    @classmethod
    def read(cls, given: dict[str, Any], config_path: Path | None) -> Invocation:
        config = read_config(config_path)
        table = config.get("settings", {})
        settings = read_settings(given, table=table if isinstance(table, dict) else {})
        configure_logs(style=settings.log_format, level=settings.log_level)
        return cls(settings=settings, config=config, config_path=config_path, given=given)

    def with_options(self, **options: Any) -> Settings:
        """The settings with a command's own options on top."""
        table = self.config.get("settings", {})
        return read_settings({**self.given, **options}, table=table if isinstance(table, dict) else {})

    @property
    def rules(self) -> RuleSet:
        from crawler.wiring import rules_of  # noqa: PLC0415 - not every command needs the stores

        return rules_of(self.config, self.settings)

    @property
    def may_write_config(self) -> Path | None:
        """Where a first ``harvest.toml`` would go; None: there is one, or another place was named."""
        path = Path(CONFIG_FILE)
        return None if self.config_path is not None or path.exists() else path


def invocation(context: typer.Context) -> Invocation:
    found = context.find_root().obj
    if not isinstance(found, Invocation):
        raise AssertionError("the root command did not read the settings")  # noqa: TRY004 - a fault of ours
    return found
