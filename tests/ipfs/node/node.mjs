// SPDX-License-Identifier: Apache-2.0
// An IPFS node without a network: node.mjs REPOSITORY PORT.  Says where its API listens, on one line.
import { create } from 'ipfs-core'
import { HttpApi } from 'ipfs-http-server'

const [repo, port] = process.argv.slice(2)
const node = await create({
  repo,
  offline: true,
  silent: true,
  preload: { enabled: false },
  init: { emptyRepo: true, algorithm: 'Ed25519' },
  config: {
    Addresses: { API: `/ip4/127.0.0.1/tcp/${port}`, Gateway: '', Swarm: [], Delegates: [] },
    Bootstrap: [],
    Discovery: { MDNS: { Enabled: false }, webRTCStar: { Enabled: false } },
    Pubsub: { Enabled: false },
    Routing: { Type: 'none' }
  }
})
const server = new HttpApi(node)
await server.start()
console.log(`API server listening on /ip4/127.0.0.1/tcp/${port}`)
