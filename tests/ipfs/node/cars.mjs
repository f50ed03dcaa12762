// SPDX-License-Identifier: Apache-2.0
// Reads a CAR from standard input and writes it again, by @ipld/car; every block is checked against its CID.
import { CarReader, CarWriter } from '@ipld/car'
import { sha256 } from 'multiformats/hashes/sha2'

const given = []
for await (const chunk of process.stdin) given.push(chunk)
const reader = await CarReader.fromBytes(new Uint8Array(Buffer.concat(given)))
const { writer, out } = CarWriter.create(await reader.getRoots())
const written = (async () => { for await (const chunk of out) process.stdout.write(chunk) })()
for await (const { cid, bytes } of reader.blocks()) {
  const { digest } = await sha256.digest(bytes)
  if (Buffer.compare(digest, cid.multihash.digest)) throw new Error(`${cid} has other bytes`)
  await writer.put({ cid, bytes })
}
await writer.close()
await written
