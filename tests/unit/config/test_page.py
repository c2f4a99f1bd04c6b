"""The page of all settings is made from the models, and is the one in the repository."""

from pathlib import Path

from esproxy.config import markdown
from esproxy.settings.page import inner_model, sections

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"


def test_page_is_current():
    assert PAGE.read_text() == markdown(), "run: python -m esproxy.config --markdown > docs/settings.md"


def test_every_setting_is_on_the_page_with_a_description():
    page = PAGE.read_text()
    for title, model in sections():
        assert f"## `{title}`" in page
        for name, field in model.model_fields.items():
            if inner_model(field.annotation) is None:
                assert field.description and f"| `{name}` |" in page, f"{title} {name}"
