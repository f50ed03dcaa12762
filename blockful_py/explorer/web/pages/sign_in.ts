// SPDX-License-Identifier: Apache-2.0
// Signs an auditor in and out.

import { h, replace, type Child } from "../dom";
import { when } from "../format";
import { facts, hash, type View } from "../page";
import { session, signedIn, signIn, signInWith, signOut, wallet, type Session } from "../session";

export function signInPage(main: HTMLElement): View {
  const aborting = new AbortController();
  const body = h("div", {});
  const problem = h("p", { class: "bad", role: "alert" });
  replace(main, h("h1", {}, "Auditors"), body, problem);

  const attempt = async (step: () => Promise<void>): Promise<void> => {
    replace(problem);
    try {
      await step();
    } catch (error) {
      replace(problem, `Not signed in: ${(error as { message?: string }).message ?? "the wallet refused"}`);
    }
    await show();
  };
  const show = async (): Promise<void> => {
    try {
      const found = await session(aborting.signal);
      replace(body, ...(found.auditor ? signedInAs(found, attempt) : invitation(attempt)));
    } catch (error) {
      if (!aborting.signal.aborted) replace(problem, (error as Error).message);
    }
  };
  const signed = signedIn(location.hash);
  if (location.hash) history.replaceState(null, "", location.pathname);
  void (signed ? attempt(() => signIn(signed)) : show());
  return { close: () => aborting.abort() };
}

type Attempt = (step: () => Promise<void>) => Promise<void>;

function signedInAs(found: Session, attempt: Attempt): Child[] {
  return [
    h("p", {}, "You are signed in: pages show what the archive keeps of replaced versions."),
    facts(["Account", hash(found.auditor, 42)], ["Until", `${when(found.until)} UTC`]),
    h("p", { class: "actions" }, h("button", { class: "button plain", type: "button", onclick: () => void attempt(signOut) }, "Sign out")),
  ];
}

function invitation(attempt: Attempt): Child[] {
  const found = wallet();
  return [
    h("p", { class: "note" }, "Nodes of replaced versions, with their figures and statements, are kept for auditors, whom a quorum of the committee names. An auditor signs in with its key; the session lasts half an hour."),
    h("h2", {}, "From a keystore"),
    h("p", {}, "Run this, and open the link that it prints:"),
    h("pre", { tabindex: "0", "aria-label": "Command" }, `blockful auditor sign-in auditor.json ${location.origin}`),
    h("h2", {}, "With a wallet in this browser"),
    found
      ? h("button", { class: "button", type: "button", onclick: () => void attempt(() => signInWith(found)) }, "Sign a message")
      : h("p", { class: "quiet" }, "No wallet was found in this browser."),
  ];
}
