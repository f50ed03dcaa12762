// SPDX-License-Identifier: Apache-2.0
// The committee: members, epochs, endpoints, alarms, slashes.

import { h, type Child } from "../../../web/dom";
import { count, ether, plural, short, when } from "../format";
import { answerPage, facts, hash, table, type View } from "../page";

interface Member {
  index: number;
  address: string;
  signed: number;
  asked: number;
  url: string | null;
  alive: boolean | null;
  stake: string | null;
  trust?: number;
  leaving?: boolean;
  slashed?: boolean;
}

interface Happened {
  name: string;
  arguments: Record<string, unknown>;
  time: number | null;
}

interface Whole {
  elected: boolean;
  epochs: { epoch: number; members: string[]; quorum: number; threshold: number; key: string; time: number | null }[];
  members: Member[];
  endpoints: { url: string; alive: boolean }[];
  alarms: Happened[];
  slashes: Happened[];
  events: Happened[];
}

export function committeePage(main: HTMLElement): View {
  return answerPage<Whole>(main, () => "/api/committee", draw);
}

function draw(committee: Whole): Child[] {
  const current = committee.epochs[0];
  return [
    h("h1", {}, "Committee"),
    current
      ? facts(
          ["Epoch", `${current.epoch}, since ${when(current.time)}`],
          ["Members", `${current.members.length}, ${committee.elected ? "elected by lot among those with stake" : "appointed"}`],
          ["Quorum", `${current.quorum} of ${current.members.length} sign a certificate`],
          ["Threshold", `${current.threshold} of ${current.members.length} shares make a collision`],
          ["Group key", hash(current.key, 14, 6)],
        )
      : h("p", { class: "empty" }, "The committee has no epoch yet."),
    committee.members.length > 0 && members(committee),
    !committee.elected && h("p", { class: "quiet note" }, "Appointed members have neither stake nor trust on the chain."),
    h("h2", {}, "Alarms"),
    committee.alarms.length === 0
      ? h("p", { class: "quiet" }, "No member has raised an alarm.")
      : table<Happened>(
          [
            { name: "Member", of: (each) => hash(String(each.arguments.member), 8, 4) },
            { name: "Reason", of: (each) => String(each.arguments.reason) },
            { name: "Proposal", of: (each) => hash(String(each.arguments.proposal), 8, 4) },
            { name: "Time (UTC)", of: (each) => when(each.time) },
          ],
          committee.alarms,
          "Alarms",
        ),
    committee.elected && [
      h("h2", {}, "Slashes"),
      committee.slashes.length === 0 ? h("p", { class: "quiet" }, "Nobody was slashed.") : events(committee.slashes, "Slashes"),
      h("h2", {}, "Elections, stake and trust"),
      events(committee.events, "Elections, stake and trust"),
    ],
    committee.epochs.length > 1 && [
      h("h2", {}, "Epochs"),
      table<Whole["epochs"][number]>(
        [
          { name: "Epoch", of: (each) => each.epoch, right: true },
          { name: "Members", of: (each) => each.members.map((one) => short(one, 6, 3)).join(" ") },
          { name: "Quorum", of: (each) => each.quorum, right: true },
          { name: "Since (UTC)", of: (each) => when(each.time) },
          { name: "Group key", of: (each) => hash(each.key, 8, 4) },
        ],
        committee.epochs,
        "Epochs",
      ),
    ],
  ];
}

function members(committee: Whole): HTMLElement {
  const state = (each: Member): Child => {
    if (each.url === null) return h("span", { class: "quiet" }, "in one process");
    return [h("i", { class: each.alive ? "lamp on" : "lamp off" }), each.alive ? "answers " : "no answer ", h("span", { class: "mono" }, each.url)];
  };
  const columns = [
    { name: "Member", of: (each: Member) => [`${each.index + 1} `, hash(each.address, 10, 6)] },
    { name: "Signed", of: (each: Member) => `${count(each.signed)} of ${plural(each.asked, "certificate")}`, right: true },
    ...(committee.elected
      ? [
          { name: "Stake (ether)", of: (each: Member) => (each.stake === null ? "–" : ether(each.stake)), right: true },
          { name: "Trust", of: (each: Member) => each.trust?.toFixed(3) ?? "–", right: true },
          { name: "Standing", of: (each: Member) => (each.slashed ? h("span", { class: "bad" }, "slashed") : each.leaving ? "leaving" : "good") },
          { name: "Endpoint", of: state },
        ]
      : []),
  ];
  return table<Member>(columns, committee.members, "Members of this epoch");
}

function events(list: Happened[], caption: string): HTMLElement {
  const told = (each: Happened): string =>
    Object.entries(each.arguments)
      .map(([name, value]) => `${name} ${[value].flat().map((one) => short(String(one), 8, 4)).join(" ")}`)
      .join(", ");
  return table<Happened>(
    [
      { name: "Event", of: (each) => h("span", { class: "whole" }, each.name) },
      { name: "What", of: (each) => h("span", { class: "mono small" }, told(each)) },
      { name: "Time (UTC)", of: (each) => when(each.time) },
    ],
    list,
    caption,
  );
}
