// SPDX-License-Identifier: Apache-2.0
// Bundles the pages of the explorer, and the script and style of report.html (`npm run pages`).

import { copyFile, mkdir, rm } from "node:fs/promises";
import { build } from "esbuild";

const EXPLORER = "blockful_py/explorer";
const REPORT = "blockful_py/report";
const common = { bundle: true, minify: true, logLevel: "warning" };

for (const room of [EXPLORER, REPORT]) {
  await rm(`${room}/static`, { recursive: true, force: true });
  await mkdir(`${room}/static`);
}
for (const name of ["index.html", "icon.svg"]) {
  await copyFile(`${EXPLORER}/web/${name}`, `${EXPLORER}/static/${name}`);
}
await build({
  ...common,
  entryPoints: { explorer: `${EXPLORER}/web/main.ts` },
  outdir: `${EXPLORER}/static`,
  format: "esm",
  target: "es2022",
  legalComments: "linked",
});
await build({ ...common, entryPoints: [`${EXPLORER}/web/explorer.css`], outdir: `${EXPLORER}/static` });
await build({
  ...common,
  entryPoints: [`${REPORT}/web/report.ts`],
  outdir: `${REPORT}/static`,
  format: "iife",
  target: "es2022",
});
await build({ ...common, entryPoints: [`${REPORT}/web/report.css`], outdir: `${REPORT}/static` });
