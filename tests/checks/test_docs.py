import typer

from checks.docs import code_words, command_options, missing_sections, missing_words, sections

PAGE = """# Commands

## `harvester run`

Drains. `--once` stops; not --workers.

## `harvester keys list`

`--json` for programs.
"""


def test_only_names_in_code_count_as_documented():
    assert list(missing_words("x.md", "`HARVESTER_A` and HARVESTER_B", {"HARVESTER_A", "HARVESTER_B"}, "setting")) == [
        "docs/x.md: the setting HARVESTER_B is not documented"
    ]


def test_a_name_inside_an_example_counts():
    assert code_words("run `harvester run --once`") == {"harvester", "run", "--once"}


def test_sections_end_where_the_next_begins():
    assert set(sections(PAGE)) == {"harvester run", "harvester keys list"}
    assert "--json" not in sections(PAGE)["harvester run"]


def test_options_are_looked_for_in_the_section_of_their_command():
    wanted = {"harvester run": {"--once", "--workers"}, "harvester keys list": {"--json"}}
    assert list(missing_sections("c.md", PAGE, wanted, "command")) == [
        "docs/c.md: command harvester run: --workers is not documented"
    ]


def test_a_section_of_something_that_is_gone_is_named():
    assert list(missing_sections("c.md", PAGE, {"harvester run": set()}, "command")) == [
        "docs/c.md: there is no command harvester keys list"
    ]


def test_commands_and_their_options_are_found_however_deep():
    app, keys = typer.Typer(), typer.Typer()
    app.add_typer(keys, name="keys")

    @app.command()
    def run(once: bool = False) -> None: ...

    @keys.command("list")
    def list_keys(json: bool = False) -> None: ...

    found = dict(command_options(typer.main.get_command(app), "harvester"))
    assert found["harvester run"] >= {"--once"}
    assert found["harvester keys list"] >= {"--json"}
