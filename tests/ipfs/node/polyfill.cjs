// SPDX-License-Identifier: Apache-2.0
// What ipfs-core expects of Node 22, for Node 18 and 20.
Promise.withResolvers ??= function () {
  let resolve, reject
  const promise = new Promise((a, b) => { resolve = a; reject = b })
  return { promise, resolve, reject }
}
