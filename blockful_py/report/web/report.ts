// SPDX-License-Identifier: Apache-2.0
// What the report's page answers to pointer and keyboard.  Without it the page says the same.

import { choosing } from "./choosing";
import { curves } from "./curves";
import { lineage } from "./lineage";
import { tips } from "./tips";
import { walking } from "./walking";

document.documentElement.classList.add("scripted");
const tip = tips();
const graph = lineage();
walking(graph);
curves(tip);
choosing(graph);
