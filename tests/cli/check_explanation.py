#!/usr/bin/env python3
"""Whether `tierup explain` tells the same in its JSON, its page and its trace.

Arguments: the JSON, the page, the trace; of 12 calls of one graph, the first two at tier 0."""
import html.parser
import json
import sys


class Page(html.parser.HTMLParser):
    """Tags must nest; keeps titles of bars, texts, and what would be fetched."""

    VOID = {"meta", "br", "rect", "circle", "line", "path", "link", "img"}

    def __init__(self):
        super().__init__()
        self.open, self.bars, self.text, self.fetched = [], [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.fetched += [value for name, value in attrs.items() if name in ("src", "href")]
        if tag == "rect" and attrs.get("class") in ("zero", "one"):
            self.bars.append(attrs["class"])
        if tag not in self.VOID or tag == "rect":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> ends <{self.open[-1:]}>"
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


def main():
    report_path, page_path, trace_path = sys.argv[1:]
    with open(report_path, encoding="utf-8") as file:
        graph, = json.load(file)["graphs"]
    assert (graph["calls"], graph["tier0_calls"]) == (12, 2), graph
    plan, = graph["plans"]
    assert plan["hits"] == 10 and plan["guard"] and plan["notes"], plan

    page = Page()
    with open(page_path, encoding="utf-8") as file:
        page.feed(file.read())
    page.close()
    assert not page.open, page.open
    assert not page.fetched, page.fetched
    assert page.bars == ["zero"] * 2 + ["one"] * 10, page.bars
    text = "".join(page.text)
    for words in (graph["name"], graph["reason"], "10 hits", *plan["notes"], *plan["guard"].split("\n")):
        assert words in text, f"the page lacks {words!r}"

    with open(trace_path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    calls = [event for event in events if event["ph"] == "X" and event["tid"] == 1]
    assert [event["name"] for event in calls] == ["tier 0"] * 2 + ["tier 1"] * 10, calls
    for before, after in zip(calls, calls[1:]):
        assert before["dur"] > 0 and before["ts"] + before["dur"] <= after["ts"], (before, after)
    jobs = [event for event in events if event["ph"] == "X" and event["tid"] == 2]
    assert jobs and jobs[0]["name"] == "compile" and jobs[0]["dur"] > 0, jobs


main()
