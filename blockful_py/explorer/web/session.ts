// SPDX-License-Identifier: Apache-2.0
// The auditor that is signed in, and the two ways to sign in: a link of `blockful auditor sign-in`, a wallet.

import { ask, AnswerError, reason } from "./api";

export interface Session {
  auditor: string | null;
  /** When it ends, in seconds since 1970. */
  until: number | null;
}

interface Signed {
  address: string;
  issued: number;
  nonce: string;
  signature: string;
}

/** What EIP-1193 says of a wallet. */
interface Wallet {
  request(call: { method: string; params?: unknown[] }): Promise<unknown>;
}

export const session = (signal?: AbortSignal): Promise<Session> => ask<Session>("/api/session", signal);

export const wallet = (): Wallet | null => (window as { ethereum?: Wallet }).ethereum ?? null;

/** Throws AnswerError with the server's reason. */
async function send(path: string, body: string): Promise<void> {
  const answer = await fetch(path, { method: "POST", body, headers: { "content-type": "application/json" } });
  if (!answer.ok) throw new AnswerError(reason(await answer.text(), answer.status));
  dispatchEvent(new CustomEvent("blockful:session"));
}

/** The signed message that a link's fragment carries; null for another fragment. */
export function signedIn(fragment: string): Signed | null {
  const [address, issued, nonce, signature, ...more] = fragment.replace(/^#/, "").split(".");
  if (!address || !nonce || !signature || more.length || !/^[0-9]{1,12}$/.test(issued ?? "")) return null;
  return { address, issued: Number(issued), nonce, signature };
}

export const signIn = (signed: Signed): Promise<void> => send("/api/sign-in", JSON.stringify(signed));

export const signOut = (): Promise<void> => send("/api/sign-out", "");

/** Has the wallet's account sign a message of this server.  Throws an Error where the wallet refuses. */
export async function signInWith(wallet: Wallet): Promise<void> {
  const [address] = (await wallet.request({ method: "eth_requestAccounts" })) as string[];
  if (!address) throw new Error("The wallet names no account.");
  const made = await ask<{ text: string; issued: number; nonce: string }>(`/api/sign-in/message?address=${encodeURIComponent(address)}`);
  const bytes = [...new TextEncoder().encode(made.text)].map((byte) => byte.toString(16).padStart(2, "0"));
  const signature = await wallet.request({ method: "personal_sign", params: [`0x${bytes.join("")}`, address] });
  await signIn({ address, issued: made.issued, nonce: made.nonce, signature: String(signature) });
}
