"""The formatter of templates changes their lines and nothing that a reader sees."""

import pytest
from jinja2 import Environment

from tests.architecture import templates

LONG = "word " * 40


@pytest.mark.parametrize(
    "template",
    [
        f"<p>{LONG}</p>",
        f'<p title="{LONG}" class="note">{LONG}</p>',
        f"<pre>{LONG}</pre>\n<p>{LONG}</p>",
        f"{LONG}{{% if true %}} yes {{% endif %}} {{{{ '{LONG}' ~ [1, 2, 3] }}}} {LONG}",
        f"<p>it's {LONG}{{# {LONG} #}}</p>",
        f"{{% set a = ['{LONG}', 'b'] %}}{{{{ a | join(', ') }}}} {LONG}",
    ],
)
def test_a_template_says_the_same_in_short_lines(template: str) -> None:
    environment = Environment(trim_blocks=True, lstrip_blocks=True)
    form = templates.wrapped(template)
    before, after = (environment.from_string(text).render() for text in (template, form))
    assert after.split() == before.split() and [*map(bool, after.split("<"))] == [
        *map(bool, before.split("<"))
    ]
    assert templates.wrapped(form) == form
    assert f'title="{LONG}"' in after or "title" not in template
    assert f"<pre>{LONG}</pre>" in after or "<pre>" not in template
    assert len(form.splitlines()) > 1


def test_no_template_has_lines_to_break() -> None:
    assert [path.name for path, form in templates.forms().items() if form != path.read_text()] == []
