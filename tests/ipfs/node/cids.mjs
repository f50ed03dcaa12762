// SPDX-License-Identifier: Apache-2.0
// CIDs by ipfs-unixfs-importer: cids.mjs SIZE...  One line each, of files of bytes 0 to 250 over and over,
// begun anew every 1 MiB.
import { importer } from 'ipfs-unixfs-importer'

const MIB = 2 ** 20
const pattern = Uint8Array.from({ length: MIB }, (_, i) => i % 251)

async function * bytes (left) {
  for (; left > 0; left -= MIB) yield pattern.subarray(0, Math.min(left, MIB))
}

const blockstore = { put: async cid => cid }
const profile = {
  cidVersion: 1,
  rawLeaves: true,
  reduceSingleLeafToSelf: true,
  wrapWithDirectory: false,
  chunker: 'fixed',
  maxChunkSize: MIB,
  strategy: 'balanced',
  maxChildrenPerNode: 1024
}
for (const size of process.argv.slice(2).map(Number)) {
  for await (const { cid } of importer([{ content: bytes(size) }], blockstore, profile)) {
    console.log(cid.toString())
  }
}
