# SPDX-License-Identifier: Apache-2.0
"""Ways through the pages: from an affected model to its certificate, by mouse and by keyboard alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from blockful_py.explorer.watched import Watched
from blockful_py.record.certificates.document import parse_certificate
from tests.browser.conftest import PARTY, Opened, generated
from tests.browser.test_pages import place, wait
from tests.explorer.generated import GeneratedFederation
from tests.federations import AFFECTED

pytestmark = pytest.mark.browser

MARKUP = "<img src=x onerror=alert(1)>{row}"


def test_from_a_model_to_its_archived_version_and_its_certificate(pages: Opened, url: str) -> None:
    page = pages(url).go("/models")
    page.get_by_role("link", name="x", exact=True).click()
    expect(page.get_by_role("heading", name="x", exact=True)).to_be_visible()
    expect(page.get_by_text("opened by 2 of 2 versions: the hash never changed")).to_be_visible()
    expect(page.locator(".version").first).to_contain_text("archived")
    page.get_by_role("link", name="a request to forget class 3").click()
    expect(page.get_by_text("carried out")).to_be_visible()
    expect(page.locator(".timeline li")).to_have_count(4)
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download certificate").click()
    certificate = parse_certificate(downloading.value.path().read_bytes())
    assert {each.name for each in certificate.statement.replaced} == set(AFFECTED)


def test_a_model_is_opened_by_its_name_and_a_wrong_name_is_told(pages: Opened, url: str) -> None:
    opened = pages(url)
    page = opened.go("/models/x")
    expect(page.get_by_role("heading", name="x", exact=True)).to_be_visible()
    page.get_by_role("button", name="Verify now").click()
    expect(page.get_by_text("Verified: every check holds.")).to_be_visible()
    opened.go(f"/models/{place(url, 'x')}")
    page.wait_for_url("**/models/x")
    opened.go("/models/%E0%A4%A")
    expect(page.get_by_text("There is no such page.")).to_be_visible()
    opened.go("/?model=%3Cb%3E")
    expect(page.get_by_text('No model, or more than one, is called "<b>".')).to_be_visible()
    opened.go("/models/%3Cimg%20src=x%3E")
    expect(page.get_by_text("no model has the name or the position '<img src=x>'.")).to_be_visible()
    opened.complaints.clear()  # Chromium reports the status 404


def test_a_good_store_verifies_and_one_with_a_flipped_byte_does_not(
    pages: Opened, url: str, watched: Watched
) -> None:
    opened = pages(url)
    page = opened.go(f"/models/{place(url, 'y')}")
    page.get_by_role("button", name="Verify now").click()
    expect(page.get_by_text("Verified: every check holds.")).to_be_visible()
    expect(page.locator(".checks li.holds")).to_have_count(14)
    cid = page.locator(".version.current dt:text-is('Sealed weights') + dd button").get_attribute("title")
    assert cid is not None
    cid = cid.split("\n")[0]
    (file,) = [each for each in (watched.run.live_store / "blocks").rglob(f"*{cid}*") if each.is_file()]
    whole = file.read_bytes()
    file.chmod(0o600)
    file.write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
    try:
        page.get_by_role("button", name="Verify now").click()
        expect(page.get_by_text("Does not verify.")).to_be_visible()
    finally:
        file.write_bytes(whole)
    expect(page.locator(".checks li.fails")).to_have_count(1)
    expect(page.locator(".checks li.fails")).to_contain_text("content")
    expect(page.locator(".checks li.fails")).to_contain_text(cid)
    opened.shoot("model-flipped-byte")


def test_a_proof_is_downloaded(pages: Opened, url: str) -> None:
    page = pages(url).go(f"/models/{place(url, 'x')}")
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download proof").click()
    proof = json.loads(downloading.value.path().read_bytes())
    assert proof["format"] == "blockful-proof/1"


def test_by_keyboard_alone_from_the_graph_to_a_verified_model(pages: Opened, url: str) -> None:
    page = pages(url).go("/")
    wait(page)
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('canvas')"):
            break
    page.keyboard.press("ArrowRight")
    expect(page.locator(".card h2")).to_have_text("a")
    page.keyboard.press("ArrowRight")
    heir = page.locator(".card h2").inner_text()
    assert heir in ("s", "x", "z")
    expect(page.locator("[aria-live=polite]")).to_contain_text("A request that starts here reaches")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".card h2")).to_have_text("a")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="a", exact=True)).to_be_visible()
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Verify now":
            break
    page.keyboard.press("Enter")
    expect(page.get_by_text("Verified: every check holds.")).to_be_visible()


def test_hovering_shows_what_a_request_would_reach(pages: Opened, url: str) -> None:
    opened = pages(url)
    page = opened.go("/")
    wait(page)
    box = page.locator(".canvas").bounding_box()
    assert box is not None
    found = None
    for step in range(0, int(box["width"]), 9):
        for down in range(0, int(box["height"]), 9):
            page.mouse.move(box["x"] + step, box["y"] + down)
            if page.locator(".canvas.pointing").count():
                found = (box["x"] + step, box["y"] + down)
                break
        if found:
            break
    assert found
    expect(page.locator(".card .reach")).to_contain_text("A request that starts here reaches")
    opened.shoot("graph-hover", whole=False)
    page.mouse.click(*found)
    page.get_by_role("link", name="What if it forgets").click()
    expect(page.get_by_role("heading", name="What if these models had to forget?")).to_be_visible()
    expect(page.locator(".chip")).to_have_count(1)


def test_a_model_is_found_by_name_and_by_owner(pages: Opened, url: str) -> None:
    page = pages(url).go("/committee")
    search = page.get_by_role("combobox", name="Search models")
    search.fill("x")
    expect(page.get_by_role("option").first).to_contain_text("x")
    search.press("Enter")
    expect(page.get_by_role("heading", name="x", exact=True)).to_be_visible()
    owner = page.locator(".lead button").get_attribute("title")
    assert owner is not None
    search.fill(owner.split("\n")[0])
    expect(page.get_by_role("option")).to_have_count(1)
    search.fill("there is no such model")
    expect(page.get_by_text("No model found")).to_be_visible()


def test_the_slider_goes_back_to_before_the_request(pages: Opened, url: str) -> None:
    opened = pages(url)
    page = opened.go("/")
    wait(page)
    expect(page.locator(".moment")).to_contain_text("7 models · block 4 · 4 replaced")
    expect(page.locator("#federation")).to_contain_text("block 4")
    expect(page.locator(".legend")).to_contain_text("version 1")
    page.get_by_label("Time, by live transactions").press("ArrowLeft")
    expect(page.locator(".moment")).to_contain_text("7 models · block 4 · 0 replaced")
    expect(page.locator(".legend")).not_to_contain_text("version 1")
    page.get_by_label("Time, by live transactions").press("Home")
    expect(page.locator(".moment")).to_contain_text("2 models ·")
    opened.shoot("graph-first-block", whole=False)


@pytest.mark.parametrize("mode", ["Version", "AD_f", "AD_r", "Accuracy", "Owner", "Age"])
def test_models_are_coloured_by_what_is_chosen(pages: Opened, url: str, mode: str) -> None:
    opened = pages(url)
    page = opened.go("/")
    wait(page)
    page.get_by_label("Colour by").select_option(label=mode)
    expect(page.locator(".legend")).to_be_visible()
    opened.shoot(f"graph-by-{mode.lower()}", whole=False)


def test_names_with_markup_are_text(pages: Opened, watched: Watched, tmp_path: Path) -> None:
    federation = GeneratedFederation(users=4, references=2)
    federation.publish(12, MARKUP)
    with generated(watched, federation, tmp_path) as explorer:
        opened = pages(explorer.url)
        page = opened.go("/models")
        expect(page.get_by_role("link", name=MARKUP.format(row=3), exact=True)).to_be_visible()
        page.get_by_role("combobox", name="Search models").fill("<img")
        expect(page.get_by_role("option").first).to_contain_text("<img src=x")
        opened.go("/what-if?start=1:0")
        expect(page.locator(".chip")).to_contain_text("<img src=x")
        opened.go("/")
        wait(page)
        page.locator(".canvas").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".card h2")).to_have_text(MARKUP.format(row=0))
        opened.shoot("graph-markup", whole=False)
        assert page.locator("#main img, #main script").count() == 0
        opened.leave()


def test_parties_own_names_are_quoted_beside_their_numbers(pages: Opened, url: str) -> None:
    opened = pages(url)
    page = opened.go("/models")
    expect(page.locator("tr", has=page.get_by_role("link", name="z", exact=True))).to_contain_text(
        f'user 5 "{PARTY}"'
    )
    opened.go("/models/z")
    expect(page.locator(".lead")).to_contain_text(f'of user 5 "{PARTY}", 0x')
    opened.go("/?model=z")
    wait(page)
    expect(page.locator(".card .facts")).to_contain_text(f'user 5 "{PARTY}"')
    page.get_by_label("Colour by").select_option(label="Owner")
    expect(page.locator(".legend")).to_contain_text(f'user 5 "{PARTY}"')
    opened.go(f"/what-if?start=z&start={place(url, 'a')}")
    expect(page.locator("table").last).to_contain_text(f'user 5 "{PARTY}"')
    assert page.locator("#main b").get_by_text("Klinik").count() == 0


@pytest.mark.parametrize("models", [14, 60])
def test_no_edge_of_a_small_graph_crosses_a_name(
    pages: Opened, watched: Watched, tmp_path: Path, models: int
) -> None:
    federation = GeneratedFederation(users=6, references=2)
    federation.publish(models, "model-{row}")
    with generated(watched, federation, tmp_path) as explorer:
        opened = pages(explorer.url)
        opened.page.add_init_script(path=Path(__file__).parent / "canvas.js")
        page = opened.go("/")
        wait(page)
        drawn = page.evaluate("window.drawn")
        opened.leave()
    assert len(drawn["names"]) == models
    assert len(drawn["points"]) > 20 * models
    crossed = [
        name["text"]
        for name in drawn["names"]
        for x, y in drawn["points"]
        if abs(y - name["y"]) < 6 and name["x"] < x < name["x"] + name["width"]
    ]
    assert crossed == []


def test_two_models_are_compared(pages: Opened, url: str) -> None:
    opened = pages(url)
    page = opened.go("/models/x")
    page.get_by_role("link", name="Compare").click()
    expect(page.get_by_text("Name two models above.")).to_be_visible()
    second = page.get_by_role("searchbox", name="Second model, by name or position")
    second.fill("z")
    second.press("Enter")
    references = page.locator("tr", has=page.get_by_role("cell", name="References", exact=True))
    expect(references).to_contain_text("a (both)")
    expect(references).not_to_contain_text("s (both)")
    reached = page.locator("tr", has=page.get_by_role("cell", name="Requests that reach it", exact=True))
    expect(reached.locator("td").nth(1)).to_have_text("forget class 3, parallel: version 1")
    expect(reached.locator("td").nth(2)).to_have_text("none")
    assert page.title() == "Compare · BlockFUL explorer"
    second.fill("<b>")
    second.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("no model has the name or the position '<b>'.")
    opened.complaints.clear()  # Chromium reports the status 404


def test_damaged_models_are_marked(pages: Opened, watched: Watched, tmp_path: Path) -> None:
    federation = GeneratedFederation(users=4, references=2)
    federation.publish(8)
    federation.forget([1], damaged=[1, 5])
    with generated(watched, federation, tmp_path) as explorer:
        opened = pages(explorer.url)
        page = opened.go("/models")
        expect(page.locator("tr", has=page.get_by_role("link", name="m5", exact=True))).to_contain_text(
            "damaged"
        )
        expect(page.locator(".badge.bad")).to_have_count(2)
        opened.go("/?model=m5")
        wait(page)
        expect(page.locator(".legend")).to_contain_text("damaged (2): no better than chance")
        expect(page.locator(".card")).to_contain_text("Damaged: no better than chance")
        page.get_by_label("Time, by live transactions").press("ArrowLeft")
        expect(page.locator(".legend")).not_to_contain_text("damaged")
        opened.leave()


def test_a_page_follows_the_chains(pages: Opened, watched: Watched, tmp_path: Path) -> None:
    federation = GeneratedFederation(users=4, references=2)
    with generated(watched, federation, tmp_path) as explorer:
        opened = pages(explorer.url)
        page = opened.go("/")
        expect(page.get_by_text("No model is published yet.")).to_be_visible()
        opened.shoot("graph-empty", whole=False)
        federation.publish(8)
        expect(page.locator(".moment")).to_contain_text("8 models")
        federation.forget([1])
        expect(page.locator(".moment")).not_to_contain_text("· 0 replaced")
        opened.leave()
