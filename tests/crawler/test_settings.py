import pytest

from crawler.errors import BadSetting
from crawler.settings import Settings, environment_of, read_config, read_settings


def test_an_option_beats_the_environment_which_beats_the_file_which_beats_the_default():
    table = {"batch_size": 3, "lease_seconds": 3, "pool_size": 3}
    environment = {"HARVESTER_BATCH_SIZE": "2", "HARVESTER_LEASE_SECONDS": "2"}
    read = read_settings({"batch_size": 1, "lease_seconds": None}, environment, table)
    assert (read.batch_size, read.lease_seconds, read.pool_size, read.max_attempts) == (1, 2.0, 3, 5)


def test_an_empty_variable_counts_as_unset():
    assert read_settings({}, {"HARVESTER_DATABASE_URL": " ", "HARVESTER_GRAPH_NAME": ""}) == Settings()


@pytest.mark.parametrize(
    ("environment", "argument", "said"),
    (
        ({"HARVESTER_DATABASE_URL": "mysql://host/facts"}, "database_url", "needs a PostgreSQL URL"),
        ({"HARVESTER_DATABASE_URL": "facts.sqlite"}, "database_url", "needs a PostgreSQL URL"),
        ({"HARVESTER_GRAPH_URL": "bolt://host"}, "graph_url", "needs a PostgreSQL URL"),
        ({"HARVESTER_BATCH_SIZE": "many"}, "batch_size", "valid integer"),
        ({"HARVESTER_BATCH_SIZE": "0"}, "batch_size", "greater than or equal to 1"),
        ({"HARVESTER_GRAPH_NAME": "kg"}, "graph_name", "at least 3"),
        ({"HARVESTER_GRAPH_NAME": "67c880"}, "graph_name", "not starting with a digit"),
        ({"HARVESTER_GRAPH_NAME": "x'); DROP SCHEMA public; --"}, "graph_name", "must be a-z"),
        ({"HARVESTER_FACTS_SCHEMA": "f" * 64}, "facts_schema", "64 bytes"),
        ({"HARVESTER_FACTS_SCHEMA": "pg_facts"}, "facts_schema", "belongs to PostgreSQL"),
        ({"HARVESTER_GRAPH_NAME": "pilotswarm_facts"}, "facts_schema", "must differ"),
        ({"HARVESTER_REGISTRY_SCHEMA": "knowledge"}, "facts_schema", "must differ"),
        ({"HARVESTER_POLL_MIN_SECONDS": "9"}, "poll_max_seconds", "must not be below"),
        ({"HARVESTER_RESERVED_PREFIXES": "skills/"}, "reserved_prefixes", "JSON list"),
    ),
)
def test_a_bad_setting_is_refused_by_name(environment, argument, said):
    with pytest.raises(BadSetting, match=said) as caught:
        read_settings({}, environment)
    assert (caught.value.argument or "").startswith(argument)


def test_an_unknown_setting_in_the_file_is_refused():
    with pytest.raises(BadSetting, match="there is no setting 'batchsize'"):
        read_settings({}, {}, {"batchsize": 3})


def test_the_graph_can_be_off():
    assert not read_settings({"graph_url": "OFF"}, {}).has_graph
    assert read_settings({}, {}).has_graph


def test_settings_show_no_password():
    assert "secret" not in repr(read_settings({"database_url": "postgresql://me:secret@host/db"}, {}))


def test_reserved_prefixes_can_be_replaced():
    read = read_settings({}, {"HARVESTER_RESERVED_PREFIXES": '[{"prefix": "own/", "write": "facts-manager"}]'})
    assert [each.prefix for each in read.reserved_prefixes] == ["own/"]


def test_a_config_file_that_is_no_toml_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_config(None) == {}
    (tmp_path / "harvest.toml").write_text("rules = [")
    with pytest.raises(BadSetting, match="not valid TOML"):
        read_config(None)
    with pytest.raises(BadSetting, match="cannot read"):
        read_config(tmp_path / "elsewhere.toml")


def test_a_command_started_by_another_has_its_settings():
    given = {
        "database_url": "postgresql://u@h/d", "facts_schema": "other_facts", "graph_name": "other", "reserved_prefixes": [],
        "registry_schema": "other_registry", "allowed_origins": ["https://a.example", "https://b.example"],
        "statement_seconds": {"agent": 3.5}, "lease_seconds": 7, "crawl_guide": "two\nlines",
    }  # fmt: skip
    settings = read_settings(given, environment={})
    assert read_settings({}, environment=environment_of(settings)) == settings
    plain = read_settings({}, environment={})
    assert read_settings({}, environment=environment_of(plain)) == plain
