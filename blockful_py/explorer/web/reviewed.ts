// SPDX-License-Identifier: Apache-2.0
// Who signed a decision, and how it was checked.

import type { Checked, Reviewed } from "./api";
import { h } from "../../web/dom";

const CHECKED: Record<Checked, string> = {
  recomputed: "each computed the weights itself",
  exact: "each computed the weights itself, from the published ones alone",
  replayed: "an auditor, drawn by lot, replayed the owner's whole training; each measured it on public data",
  spot_checked: "each repeated parts of the owner's training, drawn by lot, and measured it on public data",
  measured: "each measured AD_f and AD_r again, on public data",
  attested: "the owners attest it; each measured AD_r alone",
};

export function reviewed(review: Reviewed | null): HTMLElement {
  if (!review) return h("span", { class: "quiet" }, "no certificate is in the archive's events");
  const signed = review.members.filter((each) => each.signed).length;
  return h(
    "div",
    {},
    h(
      "span",
      { class: "voters", role: "img", "aria-label": `${signed} of ${review.members.length} members signed` },
      ...review.members.map((each) =>
        h("i", { class: each.signed ? "vote yes" : "vote", title: `member ${each.index + 1} ${each.address} ${each.signed ? "signed" : "did not sign"}` }),
      ),
    ),
    ` ${signed} of ${review.members.length} members, epoch ${review.epoch}`,
    review.checked && h("div", { class: "quiet" }, CHECKED[review.checked]),
  );
}
