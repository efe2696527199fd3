"""Opens the page of `tierup explain --html` in a headless browser, as its reader would.

    python3 check_page.py TIERUP ZOO

A page passes if no script or resource fails, nothing is wider than the window (a window of a phone and one of a desk), and
each text that explains the model is visible: drawn with an area, not transparent, and told apart from what is behind it.
Pages with planted faults must fail. Ends with "N passed, N failed, N skipped"; without a browser all are skipped.
"""

import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

WIDTHS = (400, 1200)
# Runs in the page: what a reader would miss, as one JSON object in the attribute `data-report` of <html>.
PROBE = """
<script>
const faults = [];
window.addEventListener('error', e => faults.push('error: ' + (e.message || 'cannot load ' + e.target.outerHTML)), true);
window.addEventListener('unhandledrejection', e => faults.push('rejected: ' + e.reason));
function channels(text) { return text.match(/[0-9.]+/g).map(Number); }
function luminance(c) {
  const [r, g, b] = c.map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function behind(element) {
  for (; element; element = element.parentElement) {
    const color = channels(getComputedStyle(element).backgroundColor);
    if (color.length < 4 || color[3] > 0) return color.slice(0, 3);
  }
  return [255, 255, 255];
}
function isVisible(node) {
  const element = node.parentElement, style = getComputedStyle(element);
  if (!element.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})) return false;
  const range = document.createRange();
  range.selectNodeContents(node);
  const box = range.getBoundingClientRect();
  if (box.width < 1 || box.height < 5) return false;
  const ink = channels(element.namespaceURI.endsWith('svg') ? style.fill : style.color);
  const [a, b] = [luminance(ink.slice(0, 3)), luminance(behind(element))];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) >= 3;
}
window.addEventListener('load', () => {
  document.querySelectorAll('details').forEach(d => d.open = true);
  const seen = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (isVisible(walker.currentNode)) seen.push(walker.currentNode.data);
  const root = document.documentElement;
  root.dataset.report = JSON.stringify(
    {faults, seen: seen.join('\\n'), title: document.title, width: root.scrollWidth, window: root.clientWidth});
});
</script>
"""


def find_browser():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return name
    return None


def open_page(browser, page, width, scratch):
    """What the browser says of a page at a window's width."""
    probed = scratch / "probed.html"
    probed.write_text(page.replace("<head>", "<head>" + PROBE, 1))
    run = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr",
         f"--user-data-dir={scratch}/profile", f"--window-size={width},900", "--virtual-time-budget=2000", "--dump-dom",
         probed.as_uri()],
        capture_output=True, text=True, timeout=300,
    )
    found = re.search(r'data-report="([^"]*)"', run.stdout)
    if not found:
        sys.exit(f"the browser showed nothing:\n{run.stdout[-2000:]}\n{run.stderr[-2000:]}")
    report = json.loads(html.unescape(found.group(1)))
    report["faults"] += [line for line in run.stderr.splitlines() if "CONSOLE" in line and "Uncaught" in line]
    return report


def faults_of(report, texts, title):
    yield from report["faults"]
    if report["title"] != title:
        yield f"the title is '{report['title']}' instead of '{title}'"
    if report["width"] > report["window"]:
        yield f"{report['width']} wide in a window of {report['window']}"
    seen = re.sub(r"\s+", " ", report["seen"])
    for text in texts:
        if re.sub(r"\s+", " ", text) not in seen:
            yield f"not visible: '{text}'"


def page_and_texts(tierup, model, scratch):
    """The page of a model, and what of the same report its reader must be able to see."""
    page = scratch / "page.html"
    case = model.with_name(model.stem + ".case0.safetensors")
    report = json.loads(subprocess.run(
        [tierup, "explain", model, "--inputs", case, "--calls", "5", "--graph", "--json", "--html", page],
        capture_output=True, text=True, check=True).stdout)
    texts = [model.name, report["options"], "Calls against tier", "5 calls; fastest"]
    for graph in report["graphs"]:
        texts += [graph["name"], graph["reason"], "left in the budget"]
        for plan in graph["plans"]:
            texts += [f"Plan {plan['serial']}", f"{plan['hits']} hits", plan["guard"].splitlines()[0], *plan["notes"]]
            texts += [line.strip() for line in plan["graph"].splitlines()[:3]]
    return page.read_text(), texts


# Name, what of the page is replaced, by what, and a word of what must be found.
PLANTED = [
    ("a script that throws", "</body>", "<script>missing.call()</script></body>", "missing"),
    ("an image that is not there", "</body>", '<img src="none.png"></body>', "cannot load"),
    ("a hidden section", "h2{", "h2{visibility:hidden;", "not visible"),
    ("ink like paper", "--ink:#1d2430", "--ink:#fbfbfc", "not visible"),
    ("options in one line", ".options{overflow-wrap:anywhere}", "", "wide in a window"),
]


def main(tierup, zoo):
    browser = find_browser()
    models = [pathlib.Path(zoo) / f"{name}.pt" for name in ("mlp3", "pointwise_chain")]
    checks = len(models) * len(WIDTHS) + len(PLANTED)
    if browser is None:
        print(f"page: no chromium here\n0 passed, 0 failed, {checks} skipped")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for model in models:
            page, texts = page_and_texts(tierup, model, scratch)
            if "/" in re.search(r"<h1>(.*?)</h1>", page).group(1).replace("</code>", ""):
                sys.exit("the heading has a path")
            for width in WIDTHS:
                faults = list(faults_of(open_page(browser, page, width, scratch), texts, f"tierup explain {model.name}"))
                failed += bool(faults)
                print(f"{model.name} in a window of {width}:", "; ".join(faults) or "ok")
        for name, old, new, sign in PLANTED:
            if page.count(old) < 1:
                sys.exit(f"nothing to plant '{name}' in")
            faults = list(faults_of(open_page(browser, page.replace(old, new, 1), WIDTHS[0], scratch), texts,
                                    f"tierup explain {model.name}"))
            is_found = any(sign in fault for fault in faults)
            failed += not is_found
            print(f"planted {name}:", "found" if is_found else f"MISSED, only {faults}")
    print(f"{checks - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
