// SPDX-License-Identifier: Apache-2.0
// The shell: tabs, search, state, and which page is shown.

import { ask, follow, listen, type Federation, type IndexState } from "./api";
import { find, h, replace } from "../../web/dom";
import { plural, setDemoClock } from "./format";
import { blocksPage } from "./pages/blocks";
import { committeePage } from "./pages/committee";
import { comparePage } from "./pages/compare";
import { graphPage } from "./pages/graph";
import { jobsPage } from "./pages/jobs";
import { modelPage } from "./pages/model";
import { modelsPage } from "./pages/models";
import { requestPage } from "./pages/request";
import { requestsPage } from "./pages/requests";
import { signInPage } from "./pages/sign_in";
import { whatIfPage } from "./pages/what_if";
import { go, type Page, type View } from "./page";
import { searchBox } from "./search";
import { session } from "./session";

const TABS: [string, string][] = [
  ["/", "Graph"],
  ["/models", "Models"],
  ["/requests", "Requests"],
  ["/what-if", "What if"],
  ["/committee", "Committee"],
  ["/blocks", "Blocks and gas"],
  ["/jobs", "Jobs"],
];

const TITLES: Record<string, string> = { ...Object.fromEntries(TABS), "/compare": "Compare", "/sign-in": "Auditors" };

const PAGES: [RegExp, Page][] = [
  [/^\/$/, graphPage],
  [/^\/models$/, modelsPage],
  [/^\/models\/([^/]+)$/, modelPage],
  [/^\/compare$/, comparePage],
  [/^\/requests$/, requestsPage],
  [/^\/requests\/([^/]+)$/, requestPage],
  [/^\/what-if$/, whatIfPage],
  [/^\/committee$/, committeePage],
  [/^\/blocks$/, blocksPage],
  [/^\/jobs$/, jobsPage],
  [/^\/sign-in$/, signInPage],
];

let shown: View | null = null;

function show(): void {
  shown?.close?.();
  shown = null;
  const main = find("main");
  const path = location.pathname;
  main.className = path === "/" ? "full" : "";
  main.replaceChildren();
  const tab = TABS.filter(([to]) => (to === "/" ? path === "/" : path.startsWith(to))).pop();
  for (const link of document.querySelectorAll("#tabs a"))
    if (link.getAttribute("href") === tab?.[0]) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else link.removeAttribute("aria-current");
  for (const [pattern, page] of PAGES) {
    const found = pattern.exec(path);
    const argument = found && unescaped(found[1] ?? "");
    if (argument === null) continue;
    document.title = `${TITLES[tab?.[0] ?? path]} · BlockFUL explorer`;
    shown = page(main, argument);
    return;
  }
  replace(main, h("p", { class: "empty" }, "There is no such page."));
}

/** Text without percent-escapes; null where they are no UTF-8. */
function unescaped(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function state(): void {
  const place = find("state");
  let connected = true;
  let index: IndexState | null = null;
  const draw = (): void => {
    const problem = !connected ? "not connected" : index?.problem ? "node unreachable" : null;
    place.className = problem ? "state trouble" : "state";
    place.title = problem && index?.problem ? index.problem : "Follows both chains";
    replace(place, h("i", { "aria-hidden": "true" }), problem ?? "live");
  };
  listen<boolean>("connected", (value) => {
    connected = value;
    draw();
  });
  listen<IndexState>("index", (value) => {
    index = value;
    draw();
    shown?.changed?.();
    void heading();
  });
  draw();
}

async function heading(): Promise<void> {
  try {
    const about = await ask<Federation>("/api/federation");
    setDemoClock(about.demo_clock);
    replace(find("federation"), h("b", {}, about.name), ` ${plural(about.models, "model")} · block ${about.height}`);
  } catch {
    replace(find("federation"));
  }
}

async function signedIn(): Promise<void> {
  const found = await session().catch(() => null);
  replace(find("session"), found?.auditor ? "Auditor" : "Sign in");
}

function start(): void {
  replace(find("tabs"), ...TABS.map(([to, name]) => h("a", { href: to }, name)));
  find("search").append(searchBox());
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest?.("a[href]");
    const to = link?.getAttribute("href");
    if (!to?.startsWith("/") || to.startsWith("/api/") || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(to);
  });
  addEventListener("popstate", show);
  addEventListener("blockful:session", () => void signedIn());
  void signedIn();
  addEventListener("blockful:go", () => {
    show();
    find("main").focus({ preventScroll: true });
    scrollTo(0, 0);
  });
  const known = heading();
  // The graph need not wait: it shows no time that depends on which clock the federation has.
  if (location.pathname === "/") show();
  void known.then(() => {
    if (!shown) show();
    state();
    follow();
  });
}

start();
