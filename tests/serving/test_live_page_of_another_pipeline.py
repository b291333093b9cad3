"""The live page of a lake that is of no game: decimals, windows of five seconds and of a day, persons, and no key at all."""

import re
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from chromium import chromium, screenshot, text_within
from couriers import NAMES, courier_pipeline, parcels
from deliveries import land
from pyspark.sql import SparkSession
from served import serving

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.lake import Lake, create_lake
from lakehouse.pipelines import pipeline_at
from lakehouse.settings import load_settings
from speed_layer.legacy import legacy
from speed_layer.stream import stream

if TYPE_CHECKING:
    from selenium.webdriver.remote.webdriver import WebDriver

SHOWN = 180
"""Windows of five seconds on the page: a quarter of an hour."""
TO = "\N{EN DASH}"
STRETCH = "2026-03-01T10:15:00.000Z"
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def driver() -> "Iterator[WebDriver]":
    with chromium(logs=("browser",)) as driven:
        yield driven


@pytest.fixture(scope="module")
def couriers(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake of couriers on which all layers ran."""
    directory = tmp_path_factory.mktemp("couriers")
    lake = create_lake(directory / "lake", pipeline_at(str(courier_pipeline(directory / "couriers"))))
    (directory / "landing").mkdir()
    land(directory / "landing", "1.jsonl", parcels())
    settings = load_settings(lake=lake)
    ingest(spark, lake, directory / "landing", settings)
    results = list(lake.pipeline.catalogue().values())
    stream(spark, lake, results, settings)
    for result in results:
        recompute(spark, lake, result, settings)
    legacy(spark, lake, settings, answers=[each for each in results if each.name == "loads"])
    return lake


@pytest.fixture(scope="module")
def address(couriers: Lake) -> Iterator[str]:
    with serving(couriers.path) as listening:
        yield listening


def asked(address: str, result: str, **parameters: str) -> Rows:
    answer = httpx.get(f"{address}/results/{result}", params={"limit": 10_000, **parameters})
    answer.raise_for_status()
    rows: Rows = answer.json()["rows"]
    return rows


def opened(driver: "WebDriver", address: str) -> None:
    driver.get("about:blank")
    driver.get_log("browser")
    driver.get(address)
    text_within(driver, r"\bLive\b")


def texts(driver: "WebDriver", selector: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.innerText.trim())"
    return list(driver.execute_script(script, selector))


def board(driver: "WebDriver") -> dict[str, list[str]]:
    rows = driver.execute_script(
        "return [...document.querySelectorAll('#board tbody tr')].map("
        "(row) => [...row.cells].slice(1).map((cell) => cell.innerText.trim()))"
    )
    return {name: rest for name, *rest in rows}


def total(rows: Rows) -> Decimal:
    return sum((Decimal(row["total_weight"]) for row in rows), Decimal("0.00"))


def layers_table(driver: "WebDriver") -> list[list[str]]:
    driver.execute_script("document.getElementById('layers-table').open = true")
    text_within(driver, "difference|state")
    rows = driver.execute_script(
        "return [...document.querySelectorAll('#layers-table tbody tr')].map("
        "(row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return list(rows)


def test_each_courier_has_exact_sums_under_a_pseudonym(driver: "WebDriver", address: str) -> None:
    opened(driver, address)
    rows, rounds = (asked(address, result, **{"from": STRETCH}) for result in ("loads", "rounds"))
    newest = max(row["window_start"] for row in rows)
    assert texts(driver, "#h-board") == ["Loads"]
    [note] = texts(driver, "#board-note")
    start, end = newest[11:19], next(row["window_end"] for row in rows if row["window_start"] == newest)[11:19]
    assert note == (
        f"Total weight in the newest window, {start}{TO}{end} (5 seconds), and in the 15 minutes 10:15{TO}10:30 of 1 Mar 2026 "
        "so far, with the rounds that begin in it; ▲ is one of the newest window."
    )
    assert texts(driver, "#board thead th")[1:] == ["courier", "5 seconds", "15 minutes", "rounds"]
    shown = board(driver)
    assert set(shown) == {row["courier_id"] for row in (*rows, *rounds)} and len(shown) == len(NAMES)
    for courier, (of_window, of_stretch, begun) in shown.items():
        mine = [row for row in rows if row["courier_id"] == courier]
        assert of_stretch == f"{total(mine):,.2f}"
        assert of_window == f"{total([row for row in mine if row['window_start'] == newest]):,.2f}"
        assert begun.split()[-1] == str(sum(row["courier_id"] == courier for row in rounds))
    source = driver.execute_script("return document.documentElement.outerHTML")
    assert not [name for name in NAMES if re.search(rf"\b{name}\b", source)]
    assert "couriers: Couriers bring parcels." in text_within(driver, "Couriers")
    assert driver.get_log("browser") == []


def test_the_chart_has_so_many_windows_and_the_differences_of_decimals(driver: "WebDriver", address: str) -> None:
    opened(driver, address)
    said = dict(zip(texts(driver, "#layers-words dt"), texts(driver, "#layers-words dd"), strict=True))
    table = layers_table(driver)
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for row in asked(address, "loads"):
        sums[row["window_start"][11:19]] += Decimal(row["total_weight"])
    assert len(table) == SHOWN
    assert table[0][0] == max(sums) and int(table[0][0][-2:]) - int(table[1][0][-2:]) in (5, -55)
    assert {row[0]: row[1] for row in table} == {row[0]: f"{sums[row[0]]:,.2f}" for row in table}
    assert texts(driver, "#layers-note") == [
        "Total weight per 5 seconds, added up over every courier: kilograms brought."
    ]

    mark = httpx.get(f"{address}/results/loads", params={"layer": "batch", "limit": 1}).json()["settled_before"]
    first = min(row[0] for row in table)
    cells: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
    for layer in ("kappa", "batch", "legacy"):
        rows = asked(address, "loads", layer=layer)
        settled = [row for row in rows if row["window_end"] <= mark and row["window_start"][11:19] >= first]
        cells[layer] = {(row["courier_id"], row["window_start"]): {**row, "settled": None} for row in settled}
    assert said["Compared"].startswith("cells, one for each courier and window, that are settled")
    assert cells["kappa"] == cells["batch"] and said["Stream"] == f"equal in all {len(cells['batch'])} cells."
    keys = cells["batch"].keys() | cells["legacy"].keys()
    differing = [key for key in keys if cells["batch"].get(key) != cells["legacy"].get(key)]
    none = {"total_weight": "0.00"}
    sides = [[cells[layer].get(key, none) for layer in ("batch", "legacy")] for key in differing]
    moved = sum(abs(total([batch]) - total([legacy])) for batch, legacy in sides)
    assert differing and moved
    assert said["Control"].startswith(f"differs in {len(differing)} of {len(keys)} cells (")
    assert said["Control"].endswith(f"with total weight off by {moved:,.2f} in all.")


def test_it_fits_a_wall_and_a_phone(driver: "WebDriver", address: str) -> None:
    for name, width, height in (("phone", 360, 740), ("wide", 1680, 1050)):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": name == "phone"}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        try:
            opened(driver, address)
            screenshot(driver, f"live-page-couriers-{name}")
            layers_table(driver)
            page = "document.documentElement"
            assert driver.execute_script(f"return {page}.scrollWidth - {page}.clientWidth") == 0
        finally:
            driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_days_without_a_key_are_one_line_and_the_server_says_what_is_charted(
    driver: "WebDriver", couriers: Lake
) -> None:
    courier_pipeline(Path(couriers.pipeline.folder), charted="whole_days")
    with serving(couriers.path) as address:
        opened(driver, address)
        [day] = asked(address, "whole_days")
        said = f"{Decimal(day['total_weight']):,.2f}"
        assert texts(driver, "#h-board") == ["Whole days"]
        [note] = texts(driver, "#board-note")
        assert note.startswith(f"Total weight in the newest window, 1 Mar{TO}2 Mar (1 day), with the loads and rounds")
        assert texts(driver, "#board thead th")[1:] == ["", "day", "loads", "rounds"]
        counted = [str(len(asked(address, result))) for result in ("loads", "rounds")]
        [(line, (of_window, *others))] = board(driver).items()
        assert (line, of_window) == ("all", said)
        assert [each.replace("▲ now", "").replace(",", "").strip() for each in others] == counted
        table = layers_table(driver)
        assert table[0][:2] == ["1 Mar", said] and len(table) == 24 and table[1][0] == "28 Feb"
        screenshot(driver, "live-page-couriers-days")
        assert driver.get_log("browser") == []
