"""Formulas in pages and posts are drawn by the browser: no script, no link, nothing of the writer's own but text."""

import re
from xml.etree import ElementTree

import pytest

from anyshot_platform.site.web.formulas import MOST, MOST_CHARACTERS
from anyshot_platform.site.web.markdown import markdown
from tests.platform.admin.test_manage import page, post
from tests.platform.site import SLUG, Site


def test_a_formula_is_mathml() -> None:
    shown = str(markdown(r"The score is $\frac{c - 1/w}{1 - 1/w}$."))
    (formula,) = re.findall(r"<math.*?</math>", shown)
    assert ElementTree.fromstring(formula).find(".//mfrac") is not None
    assert 'display="inline"' in formula and shown.startswith("<p>The score is <math")
    assert 'display="block"' in markdown("$$\n\\sum_i x_i\n$$") and "∑" in markdown(r"$$\sum_i$$")


@pytest.mark.parametrize(
    "text",
    ["It costs $400 or $250.", "$400/$250", r"\$x\$", "`$x$`", "a $ b $ c", "    $x$", "```\n$x$\n```"],
)
def test_what_is_no_formula_stays_text(text: str) -> None:
    assert "<math" not in markdown(text) and "$" in markdown(text)


def test_a_formula_in_html_is_drawn_and_code_is_not() -> None:
    shown = str(markdown('<p>a $x &lt; y$ <a href="?$a$">b</a> <code>$z$</code> costs $5 and $6</p>'))
    assert shown.count("<math") == 1 and "<mo>&lt;</mo>" in shown
    assert "<code>$z$</code>" in shown and "?$a$" in shown and "costs $5 and $6" in shown
    assert str(markdown("<p>" + "$x$ " * (MOST + 5) + "</p>")).count("<math") == MOST


@pytest.mark.parametrize(
    "latex",
    [
        r"\text{<script>alert(1)</script>}",
        r"\text{<img src=x onerror=alert(1)>}",
        r"\href{javascript:alert(1)}{x}",
        r"\color{red\" onclick=\"alert(1)}x",
        r"\style{background:url(//elsewhere)}{x}",
        r"\class{evil}{x}",
        r"\text{&lt;script&gt;}",
    ],
)
def test_a_formula_does_no_harm(latex: str) -> None:
    shown = str(markdown(f"${latex}$ and $${latex}$$"))
    assert not re.search(r"<(script|img|a)\b|\b(href|on\w+|style|class)\s*=", re.sub(r">[^<]*<", "><", shown))
    assert "javascript:" not in re.sub(r"<code>.*?</code>", "", shown)


@pytest.mark.parametrize("latex", [r"\rule{9999em}{999em}", r"\hspace{99999em}x", r"\rule{1e9em}{50.5ex}"])
def test_no_formula_is_larger_than_a_page(latex: str) -> None:
    """A post that pushes those of others out of sight."""
    shown = str(markdown(f"${latex}$"))
    assert "<mspace" in shown and not re.search(r"\d{3,}", shown) and "50.5" not in shown
    assert 'width="3em"' in markdown(r"$a\hspace{3em}b$")


def test_a_text_of_formulas_alone_costs_no_more_than_one_with_some() -> None:
    """20,000 of them took ten seconds of every reader's page."""
    shown = str(markdown("$x^2$ " * 5000))
    assert shown.count("<math") == MOST
    long = "$" + "+".join("x" * 900) + "$ "
    assert str(markdown(long * 50)).count("<math") == MOST_CHARACTERS // (len(long) - 1)


@pytest.mark.parametrize("latex", [r"\frac{", "}", r"\begin{nothing}x", "{" * 900 + "}" * 900, "x" * 3000])
def test_what_is_not_latex_is_shown_as_it_was_written(latex: str) -> None:
    shown = str(markdown(f"${latex}$"))
    assert "<code>" in shown or "<math" in shown or "$" in shown


def test_formulas_are_in_pages_and_in_the_forum(site: Site) -> None:
    owner, pia = site.owner(), site.member("pia")
    body = {"title": "Rules", "body": "Loss: $\\ell^2$"}
    owner.call("POST", f"/api/v1/competitions/{SLUG}/manage/pages", json=body)
    assert "<math" in page(pia, f"/competitions/{SLUG}/pages/rules").text
    begun = post(pia, f"/competitions/{SLUG}/discussion/new", title="Why", body="Is $a^2 + b^2$ right?")
    assert begun.status_code == 303
    assert "<msup>" in page(pia, begun.headers["location"]).text


def test_the_title_of_a_thread_has_its_formulas_drawn(site: Site) -> None:
    pia, base = site.member("pia"), f"/competitions/{SLUG}/discussion"
    begun = post(pia, f"{base}/new", title="Is $x_i^2$ worth $5 <b>?", body="It is.")
    for shown in (page(pia, base).text, page(pia, begun.headers["location"]).text):
        seen = shown.partition("<main")[2]
        assert "<msubsup>" in seen and "$x_i" not in seen and "worth $5 &lt;b&gt;?" in seen
