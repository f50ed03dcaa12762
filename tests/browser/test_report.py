# SPDX-License-Identifier: Apache-2.0
"""report.html answers to pointer and keyboard, says the same without its script, and lets nothing else run.

Screenshots are left in build/screenshots.
"""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, expect

from blockful_py.report.html import write_report
from blockful_py.report.schema import Report
from blockful_py.report.summary import headline
from blockful_py.types import Paradigm
from tests.browser.accessibility import SIZES, findings
from tests.browser.conftest import SCREENSHOTS, Opened, Scheme
from tests.report.made_up import of_client, one_paradigm, paper_references, report_of

pytestmark = pytest.mark.browser

PAGES: dict[Scheme, tuple[int, int, int]] = {"light": (255, 255, 255), "dark": (17, 22, 29)}
"""Colours of the page (blockful_py/web/palette.css)."""
CERTIFICATE = "parallel/certificates/erasure-1"


@pytest.fixture(scope="module")
def classes() -> Report:
    made = report_of(paper_references(), ("r5", "r7"))
    return made.model_copy(update={"certificates": {Paradigm.PARALLEL: f"{CERTIFICATE}.json"}})


@pytest.fixture(scope="module")
def written(classes: Report, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Addresses of pages by the subjects of their requests."""
    reports = {"class": classes, "client": one_paradigm(of_client(classes), Paradigm.SEQUENTIAL)}
    found = {}
    for name, report in reports.items():
        found[name] = write_report(report, tmp_path_factory.mktemp(name)).as_uri()
    return found


@pytest.fixture(scope="module")
def url(written: dict[str, str]) -> str:
    return written["class"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", sorted(SIZES))
@pytest.mark.parametrize("about", ["class", "client"])
def test_the_page_is_accessible_and_no_wider_than_its_window(
    pages: Opened, written: dict[str, str], about: str, size: str, scheme: str
) -> None:
    opened = pages(written[about], *SIZES[size], scheme)
    page = opened.go("")
    page.locator(".each-model summary").click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    opened.shoot(f"report-{about}-{size}-{scheme}")
    assert findings(page) == []
    page.locator(".lineage a").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".chosen")).to_be_visible()
    opened.shoot(f"report-{about}-chosen-{size}-{scheme}", whole=False)
    assert findings(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("what", [".scroll:has(.lineage)", ".scroll:has(table.models)"])
def test_what_is_wider_than_a_phone_shows_that_it_scrolls(
    pages: Opened, url: str, what: str, scheme: Scheme
) -> None:
    page = pages(url, *SIZES["phone"], scheme).go("")
    region = page.locator(what).first

    def is_shaded(column: int) -> bool:
        """Whether a column of the region's pixels is not of the page's colour, right below its top."""
        image = Image.open(io.BytesIO(region.screenshot())).convert("RGB")
        colour = image.getpixel((column % image.width, 1))
        assert isinstance(colour, tuple)
        return sum(abs(one - other) for one, other in zip(colour, PAGES[scheme], strict=True)) > 40

    assert (is_shaded(0), is_shaded(-1)) == (False, True)
    region.evaluate("region => region.scrollLeft = region.scrollWidth")
    assert (is_shaded(0), is_shaded(-1)) == (True, False)


def test_the_page_asks_for_no_other_file(pages: Opened, url: str) -> None:
    opened = pages(url)
    asked: list[str] = []
    opened.page.on("request", lambda request: asked.append(request.url))
    page = opened.go("")
    expect(page.locator("html.scripted")).to_be_attached()
    assert asked == [url]


def test_hovering_over_a_model_tells_its_figures_and_lights_what_descends(
    pages: Opened, url: str, classes: Report
) -> None:
    opened = pages(url)
    page = opened.go("")
    r8 = next(number for number, model in enumerate(classes.models) if model.name == "r8")
    page.locator(f'.lineage a[data-model="{r8}"]').hover()
    before = f"{classes.models[r8].before.ad_f:.1f} %"
    expect(page.get_by_role("tooltip")).to_contain_text(
        f"r8, user 8: affected, depth 2\nAD_f before: {before}"
    )
    lit = page.locator(".lineage a.lit")
    assert sorted(lit.locator(".label").all_text_contents()) == ["r11", "r13", "r8"]
    expect(page.locator(f'.passage.same[data-model="{r8}"]')).to_have_count(2)
    opened.shoot("report-hover", whole=False)
    page.get_by_role("heading", level=1).hover()
    expect(page.get_by_role("tooltip")).to_be_hidden()
    expect(lit).to_have_count(0)


def test_bars_and_curves_tell_what_is_under_the_pointer(pages: Opened, url: str, classes: Report) -> None:
    page = pages(url).go("")
    page.locator(".bar").filter(has_text="8.80 s").hover()
    expect(page.get_by_role("tooltip")).to_have_text("unlearn, sequential: 8.80 s")
    curve = page.locator(".curve").first
    box = curve.bounding_box()
    assert box is not None
    curve.hover(position={"x": box["width"] - 2, "y": 20})
    learned = classes.models[0].learning_curve
    assert learned is not None
    expect(page.get_by_role("tooltip")).to_have_text(f"epoch 60 of 60: {learned.loss[-1]:.3g} nats")
    curve.hover(position={"x": 0, "y": 20})
    expect(page.get_by_role("tooltip")).to_have_text(f"epoch 1 of 60: {learned.loss[0]:.3g} nats")


def test_a_click_shows_a_model_and_back_leaves_it(pages: Opened, url: str, classes: Report) -> None:
    page = pages(url).go("")
    chosen = page.get_by_role("complementary", name="Chosen model")
    page.locator(".passage").filter(has_text="r6").first.click()
    expect(chosen.get_by_role("heading")).to_contain_text("r6")
    expect(chosen).to_contain_text(next(model.owner for model in classes.models if model.name == "r6"))
    chosen.get_by_role("link", name="r8", exact=True).click()
    expect(chosen.get_by_role("heading")).to_contain_text("r8")
    page.go_back()
    expect(chosen.get_by_role("heading")).to_contain_text("r6")
    page.get_by_role("button", name="Close").click()
    expect(chosen).to_be_hidden()
    page.locator(".models tbody tr").nth(2).click()
    expect(chosen.get_by_role("heading")).to_contain_text("r3")
    page.reload()
    expect(chosen.get_by_role("heading")).to_contain_text("r3")


def test_the_keyboard_alone_reaches_everything(pages: Opened, url: str) -> None:
    page = pages(url).go("")
    chosen = page.get_by_role("complementary", name="Chosen model")
    page.get_by_role("link", name="Erasure certificate, parallel").focus()
    page.keyboard.press("Tab")
    expect(page.locator(".lineage a").first).to_be_focused()
    expect(page.get_by_role("tooltip")).to_contain_text("r1, user 1: untouched")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".lineage a:focus .label")).to_have_text("r10")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".lineage a:focus .label")).to_have_text("r2")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(page.locator(".lineage a:focus .label")).to_have_text("r5")
    page.keyboard.press("Enter")
    expect(chosen).to_be_focused()
    expect(chosen.get_by_role("heading")).to_contain_text("r5")
    page.keyboard.press("Escape")
    expect(chosen).to_be_hidden()
    expect(page.locator(".lineage a:focus .label")).to_have_text("r5")
    page.keyboard.press("Tab")
    expect(page.locator(".passages").first.locator(".passage").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("tooltip")).to_contain_text("r7: AD_f")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("tooltip")).to_contain_text("r5: AD_r")
    page.locator(".curve").first.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tooltip")).to_contain_text("epoch 59 of 60")
    page.keyboard.press("Enter")
    expect(chosen.get_by_role("heading")).to_contain_text("r1")


def test_the_certificate_is_one_click_away(pages: Opened, url: str) -> None:
    page = pages(url).go("")
    link = page.get_by_role("link", name="Erasure certificate, parallel")
    assert link.evaluate("link => link.href") == url.replace("report.html", f"{CERTIFICATE}.html")


def test_the_page_says_the_same_without_its_script(browser: Browser, url: str, classes: Report) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(url)
    expect(page.get_by_role("heading", level=1)).to_have_text(headline(classes))
    expect(page.get_by_text("Hover over a model")).to_be_hidden()
    page.locator(".lineage a").first.click()
    expect(page.get_by_text(classes.models[0].owner)).to_be_visible()
    context.close()


def test_on_paper_nothing_hides_the_page(pages: Opened, url: str) -> None:
    page = pages(url).go("")
    page.locator(".lineage a").first.focus()
    page.keyboard.press("Enter")
    page.emulate_media(media="print")
    expect(page.locator(".chosen")).to_be_hidden()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    printed = page.pdf(path=SCREENSHOTS / "report.pdf", format="A4", print_background=True)
    assert printed.startswith(b"%PDF")


def test_names_with_markup_are_text(pages: Opened, tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>"
    path = write_report(report_of({evil: (), "b": (evil,)}, (evil,)), tmp_path)
    page = pages(path.as_uri()).go("")
    page.locator(".lineage a").first.hover()
    expect(page.get_by_role("tooltip")).to_contain_text(evil)
    page.locator(".lineage a").first.click()
    expect(page.locator(".chosen h3")).to_contain_text(evil)
    assert page.locator("img").count() == 0


def test_a_script_in_the_page_would_not_run(pages: Opened, url: str) -> None:
    opened = pages(url)
    opened.go("")
    assert opened.refuses_scripts()
